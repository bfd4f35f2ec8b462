package warehouse

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
)

// rdsToken returns a token for Amazon RDS that is valid for 15 minutes: a presigned request without its scheme. It is
// made without a request to AWS (Amazon RDS User Guide, "IAM database authentication").
func rdsToken(c connection.Credential, now time.Time) string {
	const lifetime = "900" // seconds, the maximum
	key := awsKey{id: c.Text(connection.FieldAWSAccessKeyID),
		secret: c.Secret(connection.FieldAWSSecretAccessKey).Reveal(), region: c.Text(connection.FieldAWSRegion)}
	host := strings.ToLower(strings.TrimSuffix(c.Text(connection.FieldHost), "."))
	host = net.JoinHostPort(host, strconv.Itoa(int(c.Port())))
	return host + "/?" + key.presign("rds-db", host, "/", lifetime, url.Values{
		"Action": {"connect"}, "DBUser": {c.Text(connection.FieldUsername)},
	}, hexSum(""), now)
}

// awsKey signs requests by AWS Signature Version 4.
type awsKey struct{ id, secret, region string }

// presign returns the query of a GET request with its signature, which is valid for lifetime seconds. payload is the
// hash of the body (IAM User Guide, "Create a signed AWS API request").
func (k awsKey) presign(
	service, host, path, lifetime string, query url.Values, payload string, now time.Time,
) string {
	const algorithm = "AWS4-HMAC-SHA256"
	at := now.UTC().Format("20060102T150405Z")
	day := at[:8]
	scope := strings.Join([]string{day, k.region, service, "aws4_request"}, "/")
	query.Set("X-Amz-Algorithm", algorithm)
	query.Set("X-Amz-Credential", k.id+"/"+scope)
	query.Set("X-Amz-Date", at)
	query.Set("X-Amz-Expires", lifetime)
	query.Set("X-Amz-SignedHeaders", "host")
	// Encode sorts by key and writes a space as +, which AWS wants as %20; a plus itself is %2B.
	signed := strings.ReplaceAll(query.Encode(), "+", "%20")
	request := strings.Join([]string{"GET", path, signed, "host:" + host, "", "host", payload}, "\n")
	toSign := strings.Join([]string{algorithm, at, scope, hexSum(request)}, "\n")
	key := []byte("AWS4" + k.secret)
	for _, part := range []string{day, k.region, service, "aws4_request"} {
		key = mac(key, part)
	}
	return signed + "&X-Amz-Signature=" + hex.EncodeToString(mac(key, toSign))
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
