# Everything starts here. `make demo` and `make test` install what is missing by themselves.
SHELL := /bin/bash
GO ?= go

.PHONY: setup build demo check test accept bench lint clean

setup:
	@true

build:
	CGO_ENABLED=0 $(GO) build -o bin/parley ./cmd/parley

check:
	$(GO) vet ./...
	CGO_ENABLED=0 $(GO) test -short ./...

test: setup build
	CGO_ENABLED=0 $(GO) test ./...
