// A module of its own, so that go build ./... and go vet ./... of the program do not carry it.
module store.example/agentstore/cmd/devnet/mutate

go 1.27.0
