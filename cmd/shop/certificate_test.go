package shop

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOwnCertificate: a store speaks TLS with files of the keeper's, takes up replaced ones, keeps
// the one in use where they have a fault, and says which.
func TestOwnCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made := func(host string) (file string, trust *x509.CertPool) {
		t.Helper()
		file, err := MakeCertificate(filepath.Join(t.TempDir(), "keys"), host)
		if err != nil {
			t.Fatal(err)
		}
		if trust, err = roots(file); err != nil {
			t.Fatal(err)
		}
		return file, trust
	}
	c := TLSConfig{Certificate: filepath.Join(dir, "tls.pem"), Key: filepath.Join(dir, "tls.key")}
	place := func(certificate string, mode os.FileMode) {
		t.Helper()
		key := strings.TrimSuffix(certificate, ".pem") + ".key"
		for from, to := range map[string]string{certificate: c.Certificate, key: c.Key} {
			b, err := os.ReadFile(from)
			if err != nil {
				t.Fatal(err)
			}
			os.Remove(to)
			if err := WriteNew(to, b, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	first, trustFirst := made("localhost")
	place(first, 0o600)
	ln, _ := listen(t)
	at := "https://localhost:" + port(ln) + "/healthz"
	own := &OwnCertificate{Config: c, Host: "localhost"}
	_, stop := secured(t, ln, nil, c)
	defer stop()
	if _, _, err := page(trustFirst, at); err != nil {
		t.Error(err)
	}
	if _, _, err := page(nil, at); err == nil {
		t.Error("a certificate that vouches for itself is trusted by everybody")
	}

	if err := own.Load(); err != nil {
		t.Fatal(err)
	}
	was := own.Current.Load()
	other, _ := made("127.0.0.1")
	second, _ := made("localhost")
	refused := func(says string) {
		t.Helper()
		if err := own.Load(); err == nil || !strings.Contains(err.Error(), says) || own.Current.Load() != was {
			t.Errorf("%v, want %q, and the one in use kept", err, says)
		}
	}
	place(other, 0o600)
	refused("want one for the host of base_url")
	place(second, 0o644)
	refused("chmod 600")
	place(second, 0o600)
	if err := os.WriteFile(c.Certificate, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("want a chain in PEM")
	os.Remove(c.Certificate)
	refused("store key tls -host localhost")
	place(second, 0o600)
	if err := own.Load(); err != nil || own.Current.Load() == was {
		t.Errorf("a new certificate is not taken up: %v", err)
	}
}
