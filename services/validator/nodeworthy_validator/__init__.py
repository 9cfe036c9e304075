"""The validator: answers image-versus-node questions over request/reply and HTTP.

Belongs here: serving verdicts. The verdicts themselves are made in ``nodeworthy.verdicts``, which the command line uses too.
"""
