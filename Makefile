# make run: the whole shop on local chains, and one purchase in it.   make test: one of everything that is tested.
# What either needs beyond Go, Node.js and git, .ci/setup installs.

# By the toolchain of go.mod, which Go fetches once where it is another.
export GOTOOLCHAIN = $(shell sed -n 's/^toolchain //p' go.mod)

TESTFLAGS ?=
STATICCHECK = go tool -modfile=.tools/go.mod staticcheck
# A slow machine fails nothing: a package may take an hour. Much of a test is waiting, for blocks, children and browsers:
# two packages share a processor.
GOTEST = go test -timeout=1h -p $$((2 * $$(nproc))) $(TESTFLAGS)

.PHONY: run test test-long check build verifier release bench soak

run:
	@.ci/setup run
	@.ci/compile var/devnet ./cmd/devnet
	var/devnet -record $(ARGS)

# Tests are many processes with little in each, and much of what they take of the processor is collecting it.
test: export GOGC = 400

# What is left to make test-long begins with TestLong, tests of the text with TestStyle. Go remembers what passed, but for
# tests that start programs, which may be others today.
test:
	@.ci/setup test
	$(GOTEST) -skip='^Test(Long|Style)[A-Z]' $$(.ci/packages rest); rest=$$?; \
	$(GOTEST) -skip='^Test(Long|Style)[A-Z]' -count=1 $$(.ci/packages starts) && exit $$rest

# What make test leaves out and a soak does not need: every page in browsers, foreign servers and suites, the second of
# two like proofs.
test-long:
	@.ci/setup test-long
	$(GOTEST) -run='^TestLong[A-Z]' -count=1 $$(.ci/packages named 'TestLong[A-Z]')

# An error may begin with the name of what it speaks of, in its own case: no ST1005.
check:
	@.ci/setup check
	@test -z "$$(gofmt -l .ci cmd content corpus dynamic generator templates | tee /dev/stderr)"
	go vet ./... ./.ci/verdict
	go fix -diff ./... ./.ci/verdict
	$(STATICCHECK) -checks inherit,-ST1005 ./... ./.ci/verdict
	go test -count=1 -run='^TestStyle[A-Z]' $$(.ci/packages named 'TestStyle[A-Z]')

build:
	go run ./cmd/store build

# The verifier for browsers, and what starts it, with its licence: store build -verifier var/verifier
verifier:
	@mkdir -p var/verifier
	GOOS=js GOARCH=wasm go build -trimpath -ldflags='-s -w' -o var/verifier/verify.wasm ./cmd/verify/wasm
	@{ echo '/*'; cat "$$(go env GOROOT)/LICENSE"; echo '*/'; cat "$$(go env GOROOT)/lib/wasm/wasm_exec.js"; } > var/verifier/wasm_exec.js

# Archives, digests and, with ARGS='-key FILE', a signature of what is committed.
release:
	go run ./cmd/release $(ARGS)

# What only measures is in modules of its own.
bench:
	@.ci/setup bench
	go build -C cmd/bench -o ../../var/bench . && var/bench $(ARGS)

soak:
	@.ci/setup soak
	STORE_SOAK=1 go test -count=1 -timeout=0 -v -run=Soak ./...
	.ci/fuzz 10m
	cd cmd/devnet/mutate && go vet . && go test . && go build -o ../../../var/mutate .
	var/mutate -n 10 -seed 20261128
