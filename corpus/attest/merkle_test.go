package attest

import (
	"fmt"
	"testing"
)

// TestMerkleRoot holds the tree hash to the reference values of the test
// suite of RFC 6962 implementations (the first n of eight well-known leaves).
func TestMerkleRoot(t *testing.T) {
	leaves := []string{"", "\x00", "\x10", "\x20\x21", "\x30\x31", "\x40\x41\x42\x43",
		"\x50\x51\x52\x53\x54\x55\x56\x57", "\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f"}
	want := map[int]string{
		0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
		2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
		3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
		4: "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
		5: "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
		6: "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
		7: "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
		8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
	}
	var hashes []Digest
	for n := range len(leaves) + 1 {
		if got := MerkleRoot(hashes).String(); got != want[n] {
			t.Errorf("root of %d leaves = %s, want %s", n, got, want[n])
		}
		if n < len(leaves) {
			hashes = append(hashes, LeafHash([]byte(leaves[n])))
		}
	}
	if LeafHash([]byte("\x01")) == NodeHash(Digest{}, Digest{}) {
		t.Error("a leaf passes for a node")
	}
}

func TestDigestHasOneSpelling(t *testing.T) {
	d := LeafHash(nil)
	if back := must[Digest](t)(ParseDigest(d.String())); back != d {
		t.Errorf("%s becomes %s", d, back)
	}
	for _, s := range []string{"", d.String()[1:], d.String() + "00", fmt.Sprintf("%X", d[:]), "g" + d.String()[1:]} {
		if _, err := ParseDigest(s); err == nil {
			t.Errorf("ParseDigest(%q) is accepted", s)
		}
	}
}
