package warehouse

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
)

// rdsToken returns a token for Amazon RDS that is valid for 15 minutes: a presigned request without its scheme. It is
// made without a request to AWS (Amazon RDS User Guide, "IAM database authentication").
func rdsToken(c connection.Credential, now time.Time) string {
	const lifetime = "900" // seconds, the maximum
	key := awsKeyOf(c, c.Text(connection.FieldAWSRegion))
	host := strings.ToLower(strings.TrimSuffix(c.Text(connection.FieldHost), "."))
	host = net.JoinHostPort(host, strconv.Itoa(int(c.Port())))
	return host + "/?" + key.presign("rds-db", host, "/", lifetime, url.Values{
		"Action": {"connect"}, "DBUser": {c.Text(connection.FieldUsername)},
	}, hexSum(""), now)
}

// awsKey signs requests by AWS Signature Version 4.
type awsKey struct{ id, secret, region string }

const (
	awsAlgorithm = "AWS4-HMAC-SHA256"
	awsTime      = "20060102T150405Z"
)

func awsKeyOf(c connection.Credential, region string) awsKey {
	return awsKey{id: c.Text(connection.FieldAWSAccessKeyID),
		secret: c.Secret(connection.FieldAWSSecretAccessKey).Reveal(), region: region}
}

// presign returns the query of a GET request with its signature, which is valid for lifetime seconds. payload is the
// hash of the body (IAM User Guide, "Create a signed AWS API request").
func (k awsKey) presign(
	service, host, path, lifetime string, query url.Values, payload string, now time.Time,
) string {
	stamp := now.UTC().Format(awsTime)
	query.Set("X-Amz-Algorithm", awsAlgorithm)
	query.Set("X-Amz-Credential", k.id+"/"+k.scope(service, stamp))
	query.Set("X-Amz-Date", stamp)
	query.Set("X-Amz-Expires", lifetime)
	query.Set("X-Amz-SignedHeaders", "host")
	// Encode sorts by key and writes a space as +, which AWS wants as %20; a plus itself is %2B.
	text := strings.ReplaceAll(query.Encode(), "+", "%20")
	request := strings.Join([]string{"GET", path, text, "host:" + host, "", "host", payload}, "\n")
	return text + "&X-Amz-Signature=" + k.signature(service, stamp, request)
}

// authorize signs a request to the path / with a body, and all headers that it has.
func (k awsKey) authorize(r *http.Request, service, body string, now time.Time) {
	stamp := now.UTC().Format(awsTime)
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
	request := strings.Join([]string{r.Method, "/", r.URL.RawQuery, headers.String(), signed, hexSum(body)}, "\n")
	r.Header.Set("Authorization", awsAlgorithm+" Credential="+k.id+"/"+k.scope(service, stamp)+", SignedHeaders="+
		signed+", Signature="+k.signature(service, stamp, request))
}

// scope limits a signature to a day, a region and a service.
func (k awsKey) scope(service, stamp string) string {
	return strings.Join([]string{stamp[:8], k.region, service, "aws4_request"}, "/")
}

// signature signs a canonical request at a time.
func (k awsKey) signature(service, stamp, request string) string {
	scope := k.scope(service, stamp)
	key := []byte("AWS4" + k.secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	return hex.EncodeToString(mac(key, strings.Join([]string{awsAlgorithm, stamp, scope, hexSum(request)}, "\n")))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

func hexSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
