# The commands of this repository. What CI runs is in .ci/run, which needs no make.

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

.DEFAULT_GOAL := help
.PHONY: help run build test race check prove-quick prove fuzz verify chart lint vuln generate bench image images tasks site release-snapshot

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name does; do printf '  make %-16s %s\n' "$$name" "$$does"; done

run: ## serve with demo data on http://127.0.0.1:8080
	@trap 'exit 0' INT; CGO_ENABLED=0 go run ./cmd/atrium serve --demo

build: ## build bin/atrium, one static binary
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/atrium ./cmd/atrium

test: ## run every test, those that take samples with few of them
	@.ci/run test

race: ## run every test with the race detector, in all packages and in the program; half an hour
	@.ci/run race

check: ## run the quick tests, without any server
	@.ci/run check

prove-quick: ## run only the tests that try to break the whole program, as small as in make test, raced
	@.ci/run prove-quick

prove: ## run every test with all of its samples, and assert durations; takes hours (PARTS="soak image": only these)
	@.ci/run prove $(PARTS)

fuzz: ## run every fuzz target for a minute, keeping what fails as a test
	@.ci/run fuzz

verify: ## check generated code, the chart, formatting, modules and lints
	@.ci/run verify

chart: ## check only the Helm chart
	@.ci/run chart

lint: ## run only the linters
	@.ci/run lint

vuln: ## look for known vulnerabilities of what the code calls (GOVULNDB names another database)
	@.ci/run vuln

generate: ## regenerate mocks, wiring and API models
	@.ci/run generate

image: ## build the container image for both architectures, and run it; minutes, needs root on Debian
	@.ci/run image

images: ## take the pictures of the console's screens in docs/images/console again; needs Chromium
	@mkdir -p docs/images/console && rm -f docs/images/console/*.webp
	@ATRIUM_IMAGES=$(CURDIR)/docs/images/console go test ./test/e2e -run '^TestTheConsole$$' -count=1

tasks: ## walk through what people do in the console, print the time, and write docs/console-tasks.md; needs Chromium
	@ATRIUM_TASKS=1 go test ./test/e2e -run '^TestTasksOfTheConsole$$' -count=1 -v | grep -E '^ +console_tasks|^ *---|^ok'

site: ## write the documentation's site into dist/site, and check its links; the first time builds Hugo for minutes
	@.ci/run site

release-snapshot: ## make a release in dist/ without publishing it, and install its package; minutes, needs root on Debian
	@.ci/run release-snapshot

bench: ## measure under load, and what calls to others cost beside their drivers (docs/benchmarks.md)
	go run ./tools/bench
	go run ./test/support/services/cmd/withservices -- go test -run '^$$' -bench '^Benchmark(Warehouse|PreviewOf50MB|Suggest200By200|Heartbeat|Memory)$$' \
		./adapters/warehouse/postgres ./adapters/sheet ./domain/column ./application/presences
