package probe

import (
	"slices"
	"testing"
)

// Plant adds a version to the table until the test ends, as one more row of it would.
func Plant(t *testing.T, b Battery) {
	t.Helper()
	before := batteries
	planted := append(slices.Clone(before()), b)
	batteries = func() []Battery { return planted }
	t.Cleanup(func() { batteries = before })
}

func knownBattery(version string) Battery {
	b, err := batteryOf(version)
	if err != nil {
		panic(err)
	}
	return b
}
