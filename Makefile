# make run: the whole shop on local chains, and one purchase in it.   make test: everything that is tested.
# What either needs beyond Go, Node.js and git, .ci/setup installs.

PACKAGES ?= ./...
TESTFLAGS ?=
FUZZTIME ?= 3s
STATICCHECK = go tool -modfile=.tools/go.mod staticcheck

.PHONY: run test check build verifier release bench soak

run:
	@.ci/setup run
	go run ./cmd/devnet -record $(ARGS)

# A slow machine fails nothing: a package may take an hour, and what no test waits for is measured by make soak. Much of
# a test is waiting, for blocks, children and browsers: two packages share a processor.
test:
	@.ci/setup test
	go test -timeout=1h -p $$((2 * $$(nproc))) $(TESTFLAGS) $(PACKAGES)
	.ci/fuzz $(FUZZTIME) $(TESTFLAGS)

# An error may begin with the name of what it speaks of, in its own case: no ST1005.
check:
	@test -z "$$(gofmt -l .ci cmd content corpus dynamic generator templates | tee /dev/stderr)"
	go vet ./... ./.ci/verdict
	go fix -diff ./... ./.ci/verdict
	$(STATICCHECK) -checks inherit,-ST1005 ./... ./.ci/verdict

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

bench:
	@.ci/setup bench
	go run ./cmd/bench $(ARGS)

soak:
	@.ci/setup test
	STORE_SOAK=1 go test -count=1 -timeout=0 -v -run=Soak ./...
	.ci/fuzz 10m
	go run ./cmd/devnet/mutate -n 10 -seed 20261128
