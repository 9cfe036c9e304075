module nodeworthy.io/tests/servers/lifetime

go 1.26.0
