package main

import (
	"context"
	"encoding/json"
	"strconv"

	"store.example/agentstore/cmd/shop"
)

func erratumForm(k *keeperCall) string {
	leaf, err := strconv.ParseUint(k.about, 10, 53)
	switch {
	case err != nil:
		return "name the row by its leaf in the log, which stands beside its week in /corpus/host/HOST.json"
	case k.reason == "":
		return "say why with -reason"
	case k.walk < 0 || k.walk > 0 && k.battery != "":
		return "say by what it is corrected: by -battery, or by the paid walk of -walk"
	}
	k.leaf = int64(leaf)
	return ""
}

// erratum says what a row of the record should have said.
func (k *keeperCall) erratum(ctx context.Context) error {
	out, err := shop.Correct(ctx, k.cfg, shop.Erratum{Leaf: k.leaf, Reason: k.reason, Battery: k.battery,
		Walk: k.walk}, k.dry,
		k.logger)
	if err != nil {
		return err
	}
	return json.NewEncoder(k.stdout).Encode(out)
}
