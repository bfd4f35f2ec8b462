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

	atrium "github.com/atrium-hq/atrium/clients/go"
	"github.com/atrium-hq/atrium/cmd/atrium/internal/bucket"
)

const (
	objectEvents = 10_000
	objectBytes  = 16 << 20
)

// exportBucket is an export to a bucket: objects named <prefix>/<workspace>/<first seq>-<last seq>.ndjson. Each is
// written at once, so that there is never a part of one.
type exportBucket struct {
	bucket *bucket.Bucket
	prefix string

	body        bytes.Buffer // the next object
	events      int
	first, last int64
}

var errLocation = usageError{errors.New("name s3://bucket/prefix, and for --endpoint a URL with https")}

// bucket returns the export to bucket/prefix.
func (c *eventsExportCommand) bucket(location, workspace string) (*exportBucket, error) {
	name, prefix, _ := strings.Cut(location, "/")
	var endpoint *url.URL
	if c.Endpoint != "" {
		u, err := url.Parse(c.Endpoint)
		if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
			return nil, errLocation
		}
		endpoint = u
	}
	if name == "" {
		return nil, errLocation
	}
	credentials, err := bucket.FindCredentials()
	if err != nil {
		return nil, err
	}
	return &exportBucket{bucket: bucket.Open(name, endpoint, c.Region, credentials),
		prefix: path.Join(prefix, workspace) + "/"}, nil
}

func (b *exportBucket) resume(ctx context.Context) (cursor int64, err error) {
	keys, err := b.bucket.Keys(ctx, b.prefix)
	if err != nil {
		return 0, fmt.Errorf("the bucket: %w", err)
	}
	for _, key := range keys {
		_, last, _ := strings.Cut(strings.TrimSuffix(path.Base(key), ".ndjson"), "-")
		if seq, err := strconv.ParseInt(last, 10, 64); err == nil {
			cursor = max(cursor, seq)
		}
	}
	return cursor, nil
}

// write collects events and stores an object when its number of events or its size reaches the limit.
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
	name := fmt.Sprintf("%s%016d-%016d.ndjson", b.prefix, b.first, b.last)
	err := b.bucket.Put(ctx, name, "application/x-ndjson", b.body.Bytes())
	b.body.Reset()
	b.events = 0
	switch {
	case errors.Is(err, bucket.ErrExists):
		return errors.New("another export is writing to the bucket: run one at a time")
	case err != nil:
		return fmt.Errorf("the bucket: %w", err)
	}
	return nil
}
