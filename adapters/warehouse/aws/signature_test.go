package aws

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestATokenForRDSIsThatOfAWS compares with the token in the tests of botocore, AWS's own library. The access key is a
// shorter one than the schema of a credential permits.
func TestATokenForRDSIsThatOfAWS(t *testing.T) {
	const host = "prod-instance.us-east-1.rds.amazonaws.com:3306"
	key := Key{ID: "akid", Secret: "skid", Region: "us-east-1"}
	got := key.Presign("rds-db", host, "/", "900", url.Values{"Action": {"connect"}, "DBUser": {"someusername"}},
		Hash(nil), time.Date(2016, 11, 7, 17, 39, 33, 0, time.UTC))
	const want = "Action=connect&DBUser=someusername&X-Amz-Algorithm=AWS4-HMAC-SHA256" +
		"&X-Amz-Credential=akid%2F20161107%2Fus-east-1%2Frds-db%2Faws4_request&X-Amz-Date=20161107T173933Z" +
		"&X-Amz-Expires=900&X-Amz-SignedHeaders=host" +
		"&X-Amz-Signature=d1138cdbc0ca63eec012ec0fc6c2267e03642168f5884a7795320d4c18374c61"
	assert.Equal(t, "token", got, want)
}

// TestAPresignedRequestIsThatOfTheManual is the example of the Amazon S3 API Reference, "Authenticating requests: using
// query parameters".
func TestAPresignedRequestIsThatOfTheManual(t *testing.T) {
	key := Key{ID: "AKIAIOSFODNN7EXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", Region: "us-east-1"}
	got := key.Presign("s3", "examplebucket.s3.amazonaws.com", "/test.txt", "86400", url.Values{}, "UNSIGNED-PAYLOAD",
		time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
	const want = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
	if !strings.HasSuffix(got, "&X-Amz-Signature="+want) {
		t.Errorf("request %s", got)
	}
}

// TestASignedRequestIsThatOfTheTestSuite is the request post-x-www-form-urlencoded of AWS's test suite of Signature
// Version 4.
func TestASignedRequestIsThatOfTheTestSuite(t *testing.T) {
	key := Key{ID: "AKIDEXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", Region: "us-east-1"}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://example.amazonaws.com/", nil)
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	key.Authorize(r, "service", Hash([]byte("Param1=value1")), time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC))
	const want = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, " +
		"SignedHeaders=content-type;host;x-amz-date, " +
		"Signature=ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"
	assert.Equal(t, "Authorization", r.Header.Get("Authorization"), want)
}

// TestASignedRequestIsThatOfTheManual has the examples of the Amazon S3 API Reference, "Authenticating requests: using
// the Authorization header".
func TestASignedRequestIsThatOfTheManual(t *testing.T) {
	key := Key{ID: "AKIAIOSFODNN7EXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", Region: "us-east-1"}
	for _, test := range []struct {
		method, path string
		query        url.Values
		header       [][2]string
		body, want   string
	}{
		{"PUT", "/test$file.text", nil, [][2]string{{"Date", "Fri, 24 May 2013 00:00:00 GMT"},
			{"X-Amz-Storage-Class", "REDUCED_REDUNDANCY"}}, "Welcome to Amazon S3.",
			"98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
		{"GET", "/", url.Values{"prefix": {"J"}, "max-keys": {"2"}}, nil, "",
			"34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	} {
		u := url.URL{Scheme: "https", Host: "examplebucket.s3.amazonaws.com", Path: test.path, RawPath: Path(test.path),
			RawQuery: Query(test.query)}
		r, err := http.NewRequestWithContext(t.Context(), test.method, u.String(), nil)
		require.NoError(t, err)
		for _, h := range test.header {
			r.Header.Set(h[0], h[1])
		}
		r.Header.Set("X-Amz-Content-Sha256", Hash([]byte(test.body)))
		key.Authorize(r, "s3", Hash([]byte(test.body)), time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
		if got := r.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+test.want) {
			t.Errorf("%s %s: Authorization %s", test.method, u.String(), got)
		}
	}
}
