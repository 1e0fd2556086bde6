package evm_test

import (
	"testing"

	"store.example/agentstore/dynamic/rail/railtest"
)

func TestRail(t *testing.T) { railtest.Run(t, open) }
