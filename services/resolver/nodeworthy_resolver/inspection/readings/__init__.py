"""One file for each kind of thing that an image's files tell: libc, distribution, Go, wheels, GPU code, and so on.

A reading is a function from a :class:`~nodeworthy_resolver.inspection.subject.Subject` to an
:class:`~nodeworthy_resolver.inspection.subject.Outcome`; ``inspecting.READINGS`` lists them by hand. A reading that cannot
read one file says so (``unexplored``) and goes on with the others.
"""
