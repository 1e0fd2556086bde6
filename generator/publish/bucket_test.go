package publish

import (
	"errors"
	"testing"
)

// TestOpen: an address names a bucket, and a folder that a file system could have.
func TestOpen(t *testing.T) {
	for _, c := range []struct{ address, endpoint, at string }{
		{"s3://shop", "", "s3://shop/a"},
		{"s3://shop/", "", "s3://shop/a"},
		{"s3://shop/www/store/", "http://127.0.0.1:9000", "s3://shop/www/store/a"},
		{"s3://", "", ""},
		{"https://shop/www", "", ""},
		{"s3://key:secret@shop/www", "", ""},
		{"s3://shop/../other", "", ""},
		{"s3://shop/a//b", "", ""},
		{"s3://shop?x=1", "", ""},
		{"s3://shop", "shop.example", ""},
		{"s3://shop", "https://s3.example/path", ""},
	} {
		b, err := OpenBucket(BucketConfig{Address: c.address, Endpoint: c.endpoint})
		if c.at == "" {
			if !errors.Is(err, ErrBucketAddress) {
				t.Errorf("%s at %s: %v, want %v", c.address, c.endpoint, err, ErrBucketAddress)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s at %s: %v", c.address, c.endpoint, err)
		} else if got := b.At("a"); got != c.at {
			t.Errorf("%s: %s, want %s", c.address, got, c.at)
		}
	}
}
