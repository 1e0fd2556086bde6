// A Bucket reads and writes a folder of an object store that speaks the S3 protocol.
//
// It owns no format: an object is the bytes of a file, with its media type and how long a copy of
// it may be used. An object is put whole or not at all, by one request, so that its ETag is the MD5
// of its bytes and a listing tells what is there.

package publish

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// MaxObject is how long an object may be: what S3 takes in one request.
const MaxObject = 5 << 30

// DefaultEndpoint is where buckets are that no endpoint is said of.
const DefaultEndpoint = "https://s3.amazonaws.com"

// ErrBucketAddress is returned for an address that names no bucket.
var ErrBucketAddress = errors.New("not the address of a bucket")

// BucketConfig says where a folder is.
type BucketConfig struct {
	// Address is s3://BUCKET or s3://BUCKET/FOLDER.
	Address string
	// Endpoint is the URL of the service, "" for DefaultEndpoint. Region is the bucket's, "" to
	// ask.
	Endpoint, Region string
}

// Bucket is a folder of an object store.
type Bucket struct {
	client       *minio.Client
	name, folder string // folder ends in a slash, or is empty
}

// BucketObject is one entry of a listing.
type BucketObject struct {
	Key  string // below the folder
	Size int64
	// MD5 is that of the object's bytes where the service says it, and nothing that a file could
	// have where it does not.
	MD5 string
}

// OpenBucket returns the folder without asking the service. The keys are those of the environment
// (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN) or else of the file that
// AWS_SHARED_CREDENTIALS_FILE or the home folder has (~/.aws/credentials, profile AWS_PROFILE).
func OpenBucket(cfg BucketConfig) (*Bucket, error) {
	u, err := url.Parse(cfg.Address)
	if err != nil || u.Scheme != "s3" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%w: %q; want s3://BUCKET or s3://BUCKET/FOLDER", ErrBucketAddress, cfg.Address)
	}
	folder := strings.Trim(u.Path, "/")
	if folder != "" && !fs.ValidPath(folder) {
		return nil, fmt.Errorf("%w: %q has no folder that a file system could have", ErrBucketAddress, cfg.Address)
	}
	if folder != "" {
		folder += "/"
	}
	if cfg.Endpoint == "" {
		cfg.Endpoint = DefaultEndpoint
	}
	at, err := url.Parse(cfg.Endpoint)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" || strings.Trim(at.Path, "/") != "" {
		return nil, fmt.Errorf("%w: the endpoint is %q; want https://HOST", ErrBucketAddress, cfg.Endpoint)
	}
	client, err := minio.New(at.Host, &minio.Options{Secure: at.Scheme == "https", Region: cfg.Region,
		Creds: credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{},
			&credentials.FileAWSCredentials{}})})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBucketAddress, err)
	}
	return &Bucket{client, u.Host, folder}, nil
}

// All lists the folder. It ends with the first error.
func (b *Bucket) All(ctx context.Context) iter.Seq2[BucketObject, error] {
	return func(yield func(BucketObject, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for o := range b.client.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: b.folder,
			Recursive: true}) {
			if o.Err != nil {
				yield(BucketObject{}, b.failed("listing", "", o.Err))
				return
			}
			key := strings.TrimPrefix(o.Key, b.folder)
			if !yield(BucketObject{Key: key, Size: o.Size, MD5: strings.Trim(o.ETag, `"`)}, nil) {
				return
			}
		}
	}
}

// Get returns an object of at most so many bytes, and fs.ErrNotExist where there is none.
func (b *Bucket) Get(ctx context.Context, key string, most int64) ([]byte, error) {
	o, err := b.client.GetObject(ctx, b.name, b.folder+key, minio.GetObjectOptions{})
	if err != nil {
		return nil, b.failed("reading", key, err)
	}
	defer o.Close() // of what was read: it has no error that the reading had not
	body, err := io.ReadAll(io.LimitReader(o, most+1))
	if err != nil {
		return nil, b.failed("reading", key, err)
	}
	if int64(len(body)) > most {
		return nil, fmt.Errorf("reading %s: it is larger than %d bytes", b.At(key), most)
	}
	return body, nil
}

// Put makes an object, or another of it.
func (b *Bucket) Put(ctx context.Context, key string, body []byte, mediaType, cacheControl string) error {
	if len(body) > MaxObject {
		return fmt.Errorf("writing %s: %d bytes, where one request takes %d", b.At(key), len(body), int64(MaxObject))
	}
	_, err := b.client.PutObject(ctx, b.name, b.folder+key, bytes.NewReader(body), int64(len(body)),
		minio.PutObjectOptions{ContentType: mediaType, CacheControl: cacheControl, DisableMultipart: true,
			SendContentMd5: true})
	if err != nil {
		return b.failed("writing", key, err)
	}
	return nil
}

// Remove removes objects. One that is not there is no error.
func (b *Bucket) Remove(ctx context.Context, keys []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all := make(chan minio.ObjectInfo)
	go func() {
		defer close(all)
		for _, key := range keys {
			select {
			case all <- minio.ObjectInfo{Key: b.folder + key}:
			case <-ctx.Done():
				return
			}
		}
	}()
	var errs []error
	for e := range b.client.RemoveObjects(ctx, b.name, all, minio.RemoveObjectsOptions{}) {
		errs = append(errs, b.failed("removing", strings.TrimPrefix(e.ObjectName, b.folder), e.Err))
	}
	return errors.Join(errs...)
}

// At is the address of an object, for people.
func (b *Bucket) At(key string) string { return "s3://" + b.name + "/" + b.folder + key }

// failed says what to do about what services answer most.
func (b *Bucket) failed(doing, key string, err error) error {
	answer := minio.ToErrorResponse(err)
	hint := ""
	switch answer.Code {
	case "NoSuchKey":
		err = fs.ErrNotExist
	case "NoSuchBucket":
		hint = "; hint: make the bucket first, or look at its name and -endpoint"
	case "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch":
		hint = "; hint: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE of ~/.aws/credentials, to a " +
			"key that may list, read, write and delete there"
	case "AuthorizationHeaderMalformed", "PermanentRedirect":
		hint = "; hint: say -region, which is the bucket's own"
	}
	return fmt.Errorf("%s %s: %w%s", doing, b.At(key), err, hint)
}

// ObjectSum is the MD5 by which All tells what is there.
func ObjectSum(body []byte) string {
	sum := md5.Sum(body) // what S3 calls an ETag, and no protection: see attest.Manifest for that
	return hex.EncodeToString(sum[:])
}
