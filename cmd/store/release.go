package main

import (
	"context"
	"encoding/json"
	"io"
	"os"

	"store.example/agentstore/cmd/shop"
	"store.example/agentstore/corpus/record"
)

func releaseForm(k *keeperCall) string {
	switch {
	case k.about == "":
		return "name the version, such as v1.2.0"
	case k.file == "":
		return "name the release's file SHA256SUMS with -file"
	case k.commit == "":
		return "name the commit that it was made of with -commit: git rev-parse " + k.about + "^{commit} prints it"
	}
	return ""
}

// release puts the digests of a release on the record.
func (k *keeperCall) release(ctx context.Context) error {
	f, err := os.Open(k.file)
	if err != nil {
		return err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, 1<<20)) // ParseSums refuses far less
	if err != nil {
		return err
	}
	r := record.Release{Version: k.about, Commit: k.commit}
	if r.Files, err = record.ParseSums(raw); err != nil {
		return err
	}
	out, err := shop.Release(ctx, k.cfg, r, k.dry, k.logger)
	if err != nil {
		return err
	}
	return json.NewEncoder(k.stdout).Encode(out)
}
