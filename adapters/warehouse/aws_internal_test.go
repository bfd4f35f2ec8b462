package warehouse

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
)

// TestATokenForRDSIsThatOfAWS compares with the token in the tests of botocore, AWS's own library. The access key is a
// shorter one than the schema of a credential permits.
func TestATokenForRDSIsThatOfAWS(t *testing.T) {
	const host = "prod-instance.us-east-1.rds.amazonaws.com:3306"
	key := awsKey{id: "akid", secret: "skid", region: "us-east-1"}
	got := key.presign("rds-db", host, "/", "900", url.Values{"Action": {"connect"}, "DBUser": {"someusername"}},
		hexSum(""), time.Date(2016, 11, 7, 17, 39, 33, 0, time.UTC))
	const want = "Action=connect&DBUser=someusername&X-Amz-Algorithm=AWS4-HMAC-SHA256" +
		"&X-Amz-Credential=akid%2F20161107%2Fus-east-1%2Frds-db%2Faws4_request&X-Amz-Date=20161107T173933Z" +
		"&X-Amz-Expires=900&X-Amz-SignedHeaders=host" +
		"&X-Amz-Signature=d1138cdbc0ca63eec012ec0fc6c2267e03642168f5884a7795320d4c18374c61"
	if got != want {
		t.Errorf("token %s", got)
	}
}

// TestAPresignedRequestIsThatOfTheManual is the example of the Amazon S3 API Reference, "Authenticating requests: using
// query parameters".
func TestAPresignedRequestIsThatOfTheManual(t *testing.T) {
	key := awsKey{id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", region: "us-east-1"}
	got := key.presign("s3", "examplebucket.s3.amazonaws.com", "/test.txt", "86400", url.Values{}, "UNSIGNED-PAYLOAD",
		time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
	const want = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
	if !strings.HasSuffix(got, "&X-Amz-Signature="+want) {
		t.Errorf("request %s", got)
	}
}

// TestASignedRequestIsThatOfTheTestSuite is the request post-x-www-form-urlencoded of AWS's test suite of Signature
// Version 4.
func TestASignedRequestIsThatOfTheTestSuite(t *testing.T) {
	key := awsKey{id: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", region: "us-east-1"}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://example.amazonaws.com/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	key.authorize(r, "service", "Param1=value1", time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC))
	const want = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, " +
		"SignedHeaders=content-type;host;x-amz-date, " +
		"Signature=ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"
	if got := r.Header.Get("Authorization"); got != want {
		t.Errorf("Authorization %s", got)
	}
}

func TestATokenForRDSIsForTheEndpointInLowerCase(t *testing.T) {
	c, err := connection.ParseCredential(connection.Postgres, []byte(`{"host": "DB.Example.com.", "port": 5433,
		"database": "d", "username": "a user", "aws_access_key_id": "AKIAIOSFODNN7EXAMPLE",
		"aws_secret_access_key": "s", "aws_region": "eu-central-1"}`))
	if err != nil {
		t.Fatal(err)
	}
	token := rdsToken(c, time.Now())
	if !strings.HasPrefix(token, "db.example.com:5433/?Action=connect&DBUser=a%20user&X-Amz-Algorithm=") {
		t.Errorf("token %s", token)
	}
}
