package onchaintest_test

import (
	"errors"
)

var errSilent = errors.New("no node answers")
