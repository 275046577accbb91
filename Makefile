# Everything starts here: `make demo` shows the main job, `make test` proves it. Both install what is missing.
SHELL := /bin/bash
GO := scripts/go
VERSION := $(or $(PARLEY_VERSION),$(shell git describe --tags --always --dirty 2>/dev/null || echo unknown))
LDFLAGS := -X main.version=$(VERSION)

.PHONY: setup build demo check test accept bench lint docs clean

setup: ## system packages, Go, programs, models: whatever is missing
	@scripts/setup

build: ## bin/parley and, where a C compiler is, bin/parley-speech
	@$(GO) build -ldflags '$(LDFLAGS)' -o bin/parley ./cmd/parley
	@if [ ! -d cmd/parley-speech ]; then :; elif command -v gcc >/dev/null; then $(GO) build -o bin/parley-speech ./cmd/parley-speech; \
	else echo "build: no gcc, so no speech process; meetings are recorded without a transcript" >&2; fi

demo: setup ## a meeting from end to end
	@bin/parley demo

check: ## the fast part of the tests: no browser, no sound, no models
	@$(GO) vet ./...
	@$(GO) test -short ./...

test: setup ## all tests
	@$(GO) vet ./...
	@scripts/test

accept: setup ## what takes long: a bare machine, the MCP conformance suite, LiveKit, MiniWoB++, races
	@$(GO) test -race -p 1 -timeout 60m ./...
	@PARLEY_TEST_KILLS=200 $(GO) test -timeout 30m ./meeting/keeper
	@PARLEY_TEST_KILLS=200 $(GO) test -tags accept -timeout 90m ./cmd/parley -run 'TestKillsAtRandomMoments|TestFaultsOfAConversation'
	@$(GO) test -tags accept -timeout 150m ./tool/browse -run 'TestTwentyStepsOfTheTypeScriptClient|TestFiveHundred|TestSoak'
	@$(GO) test -tags accept -p 1 -timeout 30m ./mcp/conformance ./platforms/livekit ./tool/browse/miniwob ./guard ./guard/seal ./guard/injection ./control/...
	@$(GO) test -tags accept -p 1 -timeout 150m ./platforms/meet/standin ./platforms/zoom/standin
	@$(GO) test -tags accept -p 1 -timeout 30m -run TestWithoutItsFix ./platforms/meet ./platforms/zoom
	@scripts/accept-bare

lint: ## linters, licences and known vulnerabilities of dependencies; what cannot be had is skipped visibly
	@scripts/lint

docs: ## the pages that are made from code
	@$(GO) test ./internal/settings -run TheDocs -update
	@$(GO) test ./tool ./turn ./meeting ./internal/rules -update >/dev/null

bench: setup ## figures of this machine
	@bin/parley bench seat

clean: ## what building made; models and recordings stay
	rm -rf bin .cache/go .cache/dl
