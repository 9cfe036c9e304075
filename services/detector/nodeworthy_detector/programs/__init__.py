"""Programs of the machine's administrators, run in turn, and what they say as feature sets.

Belongs here: which files of the folder may run (``listing``), how one is run and ended with all it started (``running``,
``supervisor``), what its output means (``output``), when it runs again (``runner``), and the source that tells of it
(``source``). Does not belong here: watching folders, reading configuration files, and what the facts are good for.

How the parts are joined in a service, all of it on the loop but for ``ProgramsSource.read``, which belongs into a thread::

    runner = ProgramRunner(settings, host, on_change=partial(agenda.note_change, "programs"))
    source = ProgramsSource(settings.folder, runner)        # name "programs"; wrap it into a watch of settings.folder
    group.create_task(runner.run(), name="programs")        # until cancelled; ends what it has started

Each ``read`` lists the folder, hands the list to the runner, which runs what is new or changed at once, and answers with
what is known by then; ``on_change`` is called when a run has changed what the source would say. So a program that was
dropped into a watched folder is on the bus after two looks, and whoever watches calls ``agenda.note_change("programs")`` and
nothing else. ``ProgramsSource.sets`` follows the folder: ask for it after ``read``. A failing program is ``Reading.error``,
which belongs into the source's health, while the sets of the other programs are known. ``runner.settings = …`` takes a new
configuration.

``sources.programs`` of the configuration is a :class:`settings.ProgramSettings` (``msgspec.convert``).
"""
