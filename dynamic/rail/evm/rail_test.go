package evm_test

import (
	"testing"

	"store.example/agentstore/dynamic/internal/railtest"
)

func TestRail(t *testing.T) { railtest.Run(t, open) }
