// Package aws signs requests by AWS Signature Version 4 (IAM User Guide, "Create a signed AWS API request"), for
// Amazon's services and for servers that are compatible with its S3.
package aws

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Key is an access key. Region is where its requests go.
type Key struct{ ID, Secret, Region string }

const (
	algorithm  = "AWS4-HMAC-SHA256"
	timeFormat = "20060102T150405Z"
)

// Presign returns a GET request's query with its signature, which is valid for lifetime seconds. payload is the hash of
// the body.
func (k Key) Presign(
	service, host, path, lifetime string, query url.Values, payload string, now time.Time,
) string {
	stamp := now.UTC().Format(timeFormat)
	query.Set("X-Amz-Algorithm", algorithm)
	query.Set("X-Amz-Credential", k.ID+"/"+k.scope(service, stamp))
	query.Set("X-Amz-Date", stamp)
	query.Set("X-Amz-Expires", lifetime)
	query.Set("X-Amz-SignedHeaders", "host")
	text := Query(query)
	request := strings.Join([]string{"GET", path, text, "host:" + host, "", "host", payload}, "\n")
	return text + "&X-Amz-Signature=" + k.signature(service, stamp, request)
}

// Authorize signs a request whose body has the hash payload, with all headers that it has. The path is signed as it is
// sent: see Path. The query is Query's.
func (k Key) Authorize(r *http.Request, service, payload string, now time.Time) {
	stamp := now.UTC().Format(timeFormat)
	r.Header.Set("X-Amz-Date", stamp)
	values := map[string]string{"host": r.URL.Host}
	for name := range r.Header {
		values[strings.ToLower(name)] = r.Header.Get(name)
	}
	names := slices.Sorted(maps.Keys(values))
	var headers strings.Builder
	for _, name := range names {
		headers.WriteString(name + ":" + values[name] + "\n")
	}
	signed := strings.Join(names, ";")
	request := strings.Join([]string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, headers.String(), signed, payload},
		"\n")
	r.Header.Set("Authorization", algorithm+" Credential="+k.ID+"/"+k.scope(service, stamp)+", SignedHeaders="+
		signed+", Signature="+k.signature(service, stamp, request))
}

// Query encodes a query as it is signed: sorted by key, with a space as %20.
func Query(values url.Values) string { return strings.ReplaceAll(values.Encode(), "+", "%20") }

// Path encodes a path as it is signed for S3: all characters but letters, digits, slashes, and - _ . ~
func Path(path string) string { return strings.ReplaceAll(escape(path), "%2F", "/") }

func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// Hash returns a body's hash in hexadecimal digits.
func Hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// scope limits a signature to a day, a region and a service.
func (k Key) scope(service, stamp string) string {
	return strings.Join([]string{stamp[:8], k.Region, service, "aws4_request"}, "/")
}

// signature signs a canonical request at a time.
func (k Key) signature(service, stamp, request string) string {
	scope := k.scope(service, stamp)
	key := []byte("AWS4" + k.Secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	text := strings.Join([]string{algorithm, stamp, scope, Hash([]byte(request))}, "\n")
	return hex.EncodeToString(mac(key, text))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
