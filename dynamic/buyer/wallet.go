package buyer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"store.example/agentstore/corpus/wallet"
	"store.example/agentstore/dynamic/rail/solana"
)

// maxKeyFile bounds what is read of a file with a wallet's key.
const maxKeyFile = 4 << 10

// ErrSecondWallet is returned for a wallet of a kind of which there is one already.
var ErrSecondWallet = errors.New("is a second wallet of")

// AddWallet reads a wallet's key from a file that only its owner may read: 32 bytes of hex on EVM
// networks, or what solana-keygen writes. Which kind it is shows in its form; there is one of each.
func (c *Config) AddWallet(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s may be read by others than its owner: chmod 600 it", file)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return err
	}
	b = bytes.TrimSpace(b)
	onSolana := bytes.HasPrefix(b, []byte("["))
	switch {
	case onSolana && c.Solana != nil:
		return fmt.Errorf("%s %w Solana", file, ErrSecondWallet)
	case onSolana:
		c.Solana, err = solana.ParseKey(b)
	case c.Wallet != nil:
		return fmt.Errorf("%s %w EVM networks", file, ErrSecondWallet)
	default:
		c.Wallet, err = wallet.ParseKey(string(b))
	}
	if err != nil {
		// The text of a parse error could repeat the key.
		return fmt.Errorf("%s does not hold a wallet key (32 bytes of hex, or a list of 64 numbers)", file)
	}
	return nil
}
