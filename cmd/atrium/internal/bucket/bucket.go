// Package bucket lists and writes objects in a bucket at Amazon S3 or at a compatible server, by the REST API of the
// Amazon S3 API Reference.
package bucket

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // S3 requires it for buckets with object lock
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/atrium-hq/atrium/adapters/warehouse/aws"
)

// Bucket is a bucket. It is used by one goroutine at a time.
type Bucket struct {
	name        string
	endpoint    *url.URL // nil for Amazon's of the region
	region      string   // "" until the server has told it
	credentials Credentials
	client      *http.Client
}

// ErrExists is returned for an object that exists.
var ErrExists = errors.New("the object exists")

// defaultRegion is where Amazon knows each bucket.
const defaultRegion = "us-east-1"

// Open returns a bucket. endpoint is a compatible server's URL, of which the path is ignored; nil means Amazon S3. If
// region is "", the server is asked for it. No connection is opened.
func Open(name string, endpoint *url.URL, region string, credentials Credentials) *Bucket {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:errcheck,forcetypeassert // documented
	transport.ResponseHeaderTimeout = time.Minute
	return &Bucket{name: name, endpoint: endpoint, region: region, credentials: credentials, client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Keys returns the keys that begin with prefix and have no slash after it.
func (b *Bucket) Keys(ctx context.Context, prefix string) (keys []string, err error) {
	query := url.Values{"list-type": {"2"}, "prefix": {prefix}, "delimiter": {"/"}}
	for {
		body, err := b.do(ctx, request{method: http.MethodGet, query: query})
		if err != nil {
			return nil, err
		}
		var page struct {
			Contents []struct {
				Key string `xml:"Key"`
			} `xml:"Contents"`
			IsTruncated bool   `xml:"IsTruncated"`
			Next        string `xml:"NextContinuationToken"`
		}
		if err := xml.Unmarshal(body, &page); err != nil {
			return nil, fmt.Errorf("the list of objects: %w", err)
		}
		for _, object := range page.Contents {
			keys = append(keys, object.Key)
		}
		if !page.IsTruncated {
			return keys, nil
		}
		if page.Next == "" || page.Next == query.Get("continuation-token") {
			return nil, errors.New("the list of objects has no end")
		}
		query.Set("continuation-token", page.Next)
	}
}

// Put writes an object. It returns ErrExists if there is one with this key.
func (b *Bucket) Put(ctx context.Context, key, contentType string, body []byte) error {
	sum := md5.Sum(body) //nolint:gosec // see the import
	_, err := b.do(ctx, request{method: http.MethodPut, key: key, body: body, header: map[string]string{
		"Content-Type": contentType, "Content-MD5": base64.StdEncoding.EncodeToString(sum[:]), "If-None-Match": "*"}})
	if failure, ok := errors.AsType[*Error](err); ok && failure.Status == http.StatusPreconditionFailed {
		return ErrExists
	}
	return err
}

// Error is a refusal of the server.
type Error struct {
	Status  int    // of HTTP
	Code    string // of S3
	Message string
	Region  string // where the bucket is, if the server says so
}

// Error implements error.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// isTemporary reports whether the same request may succeed later. S3 asks for that if two writes meet.
func (e *Error) isTemporary() bool {
	return e.Status >= 500 || e.Status == http.StatusTooManyRequests || e.Code == "ConditionalRequestConflict"
}

type request struct {
	method, key string
	query       url.Values
	header      map[string]string
	body        []byte
}

// do sends a request, and again in the region that the server names, or after a pause if the server is busy.
func (b *Bucket) do(ctx context.Context, r request) ([]byte, error) {
	return backoff.Retry(ctx, func() ([]byte, error) {
		answer, err := b.send(ctx, r)
		if failure, ok := errors.AsType[*Error](err); ok && failure.Region != "" && b.region == "" {
			b.region = failure.Region
			answer, err = b.send(ctx, r)
		}
		if failure, ok := errors.AsType[*Error](err); ok && !failure.isTemporary() {
			return nil, backoff.Permanent(err)
		}
		return answer, err
	}, backoff.WithMaxTries(5))
}

const maxAnswer = 16 << 20 // bytes; a list has at most 1,000 keys

// send signs a request and returns the response's body. Errors that a repetition cannot change are permanent for
// backoff.
func (b *Bucket) send(ctx context.Context, r request) ([]byte, error) {
	key := aws.Key{ID: b.credentials.ID, Secret: b.credentials.Secret, Region: b.region}
	if key.Region == "" {
		key.Region = defaultRegion
	}
	req, err := http.NewRequestWithContext(ctx, r.method, b.url(key.Region, r.key, r.query), bytes.NewReader(r.body))
	if err != nil {
		return nil, backoff.Permanent(err)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	if b.credentials.Token != "" {
		req.Header.Set("X-Amz-Security-Token", b.credentials.Token)
	}
	hash := aws.Hash(r.body)
	req.Header.Set("X-Amz-Content-Sha256", hash)
	key.Authorize(req, "s3", hash, time.Now())
	resp, err := b.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode/100 != 2 {
		return nil, refusal(resp, answer)
	}
	return answer, err
}

// url returns the URL of the object key, or of the bucket if key is "". Amazon takes the bucket from the host, unless
// it has dots, which a certificate for *.s3.amazonaws.com does not cover. Alibaba Cloud takes it only from there. All
// others take it from the path.
func (b *Bucket) url(region, key string, query url.Values) string {
	u := url.URL{Scheme: "https", Host: "s3." + region + ".amazonaws.com", Path: "/" + key}
	if strings.HasPrefix(region, "cn-") {
		u.Host += ".cn"
	}
	if b.endpoint != nil {
		u.Scheme, u.Host = b.endpoint.Scheme, b.endpoint.Host
	}
	host := u.Hostname()
	inHost := strings.HasSuffix(host, ".amazonaws.com") || strings.HasSuffix(host, ".amazonaws.com.cn") ||
		strings.HasSuffix(host, ".aliyuncs.com")
	if inHost && !strings.Contains(b.name, ".") {
		u.Host = b.name + "." + u.Host
	} else {
		u.Path = "/" + b.name + u.Path
	}
	u.RawPath, u.RawQuery = aws.Path(u.Path), aws.Query(query)
	return u.String()
}

// refusal returns a response's error. One without a body of XML, such as a proxy's, has a code by its status.
func refusal(resp *http.Response, body []byte) *Error {
	var e Error
	if xml.Unmarshal(body, &e) != nil || e.Code == "" {
		e = Error{Code: strings.ReplaceAll(http.StatusText(resp.StatusCode), " ", ""), Message: resp.Status}
		if resp.StatusCode == http.StatusForbidden {
			e.Code = "AccessDenied"
		}
	}
	e.Status = resp.StatusCode
	if region := resp.Header.Get("X-Amz-Bucket-Region"); region != "" {
		e.Region = region
	}
	return &e
}
