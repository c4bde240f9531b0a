# `make help` lists the targets. Everything here needs Node 20.19 or later and npm; the first target that needs
# the packages installs them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

.PHONY: help all install run build generate test node24 test-node24 check breaking interop fuzz soak bench clean

help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  %-12s %s\n", $$1, $$2 }'

all: generate check test ## Generate, check and test

install:
	@node scripts/install.mjs

run: build ## Serve the echo agent on http://127.0.0.1:8080 and gRPC 127.0.0.1:50051 (ARGS="--http HOST:PORT")
	@exec node dist/main.js serve $(ARGS)

build: install ## Compile to dist/; the program is dist/main.js
	@node scripts/build.mjs

generate: install ## Write gen/ and the documents that are derived from code
	@node scripts/generate.mjs

test: build ## Run all tests; those with clients in other languages where their toolchain is there
	@rm -f .tmp/reports/test.json .tmp/reports/interop.json
	@status=0; node scripts/test.mjs test || status=1; \
	tsx test/interop/run.ts $(if $(CI),,--available) || status=1; exit $$status

node24: ## Fetch Node 24 into .tmp/, for test-node24
	@node scripts/node24.mjs prepare

test-node24: install ## Run the tests but fuzzing on Node 24 (fetched into .tmp/)
	@node scripts/node24.mjs --exclude "test/fuzz/**"

check: install ## Types, format, lint, import rule, unused code, contract, generated files
	@node scripts/check.mjs

breaking: install ## Compare the contract with the one of the last release
	@buf breaking proto --against test/wire/a2a-1.0.binpb

interop: build ## Official SDKs, grpcurl and a browser as clients; installs what they need (CLIENTS="Go Java")
	@tsx test/interop/run.ts $(CLIENTS)

fuzz: install ## Fuzz every parser, bounded (FUZZ_SECONDS=60 for each)
	@FUZZ_SECONDS=$${FUZZ_SECONDS:-60} vitest run test/fuzz

soak: install ## Fuzz and soak for long (FUZZ_SECONDS=3600 for each)
	@SOAK=1 FUZZ_SECONDS=$${FUZZ_SECONDS:-3600} vitest run test/fuzz test/soak

bench: build ## Measure against the bare floors and the official SDK (BENCH=name for one)
	@tsx test/bench/main.ts $(BENCH)

clean: ## Remove what was built, measured and fetched; node_modules stays
	@rm -rf dist coverage .tmp
