package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	atrium "github.com/atrium-hq/atrium/clients/go"
)

const (
	objectEvents = 10_000
	objectBytes  = 16 << 20
)

// exportBucket is an export to a bucket: objects named <prefix>/<workspace>/<first seq>-<last seq>.ndjson. Each is
// written at once, so that there is never a part of one.
type exportBucket struct {
	client *minio.Client
	bucket string
	prefix string

	body        bytes.Buffer // the next object
	events      int
	first, last int64
}

// bucket returns the export to bucket/prefix.
func (c *eventsExportCommand) bucket(location, workspace string) (*exportBucket, error) {
	bucket, prefix, _ := strings.Cut(location, "/")
	endpoint, err := url.Parse(c.Endpoint)
	if c.Endpoint == "" {
		endpoint = &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}
	}
	if bucket == "" || err != nil || endpoint.Host == "" || (endpoint.Scheme != "https" && endpoint.Scheme != "http") {
		return nil, usageError{errors.New("name s3://bucket/prefix, and for --endpoint a URL with https")}
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Secure: endpoint.Scheme == "https",
		Region: c.Region,
		Creds: credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{},
			&credentials.FileAWSCredentials{}}),
	})
	return &exportBucket{client: client, bucket: bucket, prefix: path.Join(prefix, workspace) + "/"}, err
}

func (b *exportBucket) resume(ctx context.Context) (cursor int64, err error) {
	for o := range b.client.ListObjectsIter(ctx, b.bucket, minio.ListObjectsOptions{Prefix: b.prefix}) {
		if o.Err != nil {
			return 0, bucketError(o.Err)
		}
		_, last, _ := strings.Cut(strings.TrimSuffix(path.Base(o.Key), ".ndjson"), "-")
		if seq, err := strconv.ParseInt(last, 10, 64); err == nil {
			cursor = max(cursor, seq)
		}
	}
	return cursor, ctx.Err()
}

func (b *exportBucket) write(ctx context.Context, events []atrium.Event) error {
	for i := range events {
		if b.events == 0 {
			b.first = *events[i].Seq
		}
		if err := json.NewEncoder(&b.body).Encode(&events[i]); err != nil {
			return err
		}
		b.events, b.last = b.events+1, *events[i].Seq
		if b.events < objectEvents && b.body.Len() < objectBytes {
			continue
		}
		if err := b.put(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *exportBucket) close(ctx context.Context) error { return b.put(ctx) }

// put writes the next object, if there is anything to write. Another export that writes the same is an error.
func (b *exportBucket) put(ctx context.Context) error {
	if b.events == 0 {
		return nil
	}
	options := minio.PutObjectOptions{ContentType: "application/x-ndjson", DisableMultipart: true}
	options.SetMatchETagExcept("*")
	name := fmt.Sprintf("%s%016d-%016d.ndjson", b.prefix, b.first, b.last)
	_, err := b.client.PutObject(ctx, b.bucket, name, bytes.NewReader(b.body.Bytes()), int64(b.body.Len()), options)
	b.body.Reset()
	b.events = 0
	return bucketError(err)
}

// bucketError returns an error that says what the server refused.
func bucketError(err error) error {
	switch answer := minio.ToErrorResponse(err); {
	case err == nil:
		return nil
	case answer.Code == minio.PreconditionFailed:
		return errors.New("another export is writing to the bucket: run one at a time")
	case answer.Code != "":
		return fmt.Errorf("the bucket: %s: %s", answer.Code, answer.Message)
	}
	return fmt.Errorf("the bucket: %w", err)
}
