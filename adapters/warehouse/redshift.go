package warehouse

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/atrium-hq/atrium/adapters/warehouse/aws"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/secret"
)

// RedshiftAPI is the address of Amazon's APIs that give temporary passwords for Amazon Redshift. The zero RedshiftAPI
// is the cluster's region's.
type RedshiftAPI struct {
	Host  string         // to connect to; "" for the host of the API
	Port  uint16         // 0 for HTTPS
	Roots *x509.CertPool // nil for the machine's
}

// passwordSeconds is how long a temporary password is valid, the minimum.
const passwordSeconds = 900

// SignIn returns c with a user and a temporary password that Amazon gives for its AWS key: GetClusterCredentials of the
// Amazon Redshift API Reference for a cluster, and GetCredentials of the Amazon Redshift Serverless API Reference for a
// workgroup. It returns connection.AuthFailed or connection.AuthRejected if Amazon refuses.
func (a RedshiftAPI) SignIn(ctx context.Context, n Network, c connection.Credential) (connection.Credential, error) {
	database := c.RedshiftDatabase()
	service, host := database.API()
	body, headers, read := clusterPassword(c, database)
	if database.Workgroup != "" {
		body, headers, read = workgroupPassword(c, database)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+host+"/", strings.NewReader(body))
	if err != nil {
		return c, connection.Internal
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	awsKeyOf(c, database.Region).Authorize(r, service, aws.Hash([]byte(body)), time.Now())
	r.Header.Set("User-Agent", "atrium")
	web, err := OpenWeb(ctx, n, cmp.Or(a.Host, host), cmp.Or(a.Port, httpsPort),
		&tls.Config{ServerName: host, RootCAs: a.Roots, MinVersion: tls.VersionTLS12}, nil)
	if err != nil {
		return c, err
	}
	defer web.Close()
	answer, err := web.Do(ctx, r)
	if err != nil {
		return c, err
	}
	user, password, refusal := read(answer)
	if answer.Status != http.StatusOK {
		return c, refusedByAWS(refusal)
	}
	if !isLogin(user) || !isLogin(password) {
		return c, connection.NotThisDatabase
	}
	return c.WithLogin(user, secret.New(password)), nil
}

// isLogin reports whether a text of the API can be a user or a password.
func isLogin(s string) bool {
	const most = 4096
	return s != "" && len(s) <= most && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f })
}

// readPassword reads a response: what is in it depends on its status. refusal is an error's code.
type readPassword func(Answer) (user, password, refusal string)

// clusterPassword returns a request of the Query protocol. It asks for an existing user, whose permissions the session
// then has.
func clusterPassword(
	c connection.Credential, d connection.RedshiftDatabase,
) (body string, headers map[string]string, read readPassword) {
	form := url.Values{
		"Action": {"GetClusterCredentials"}, "Version": {"2012-12-01"}, "ClusterIdentifier": {d.Cluster},
		"DbUser": {c.Text(connection.FieldUsername)}, "DbName": {c.Text(connection.FieldDatabase)},
		"AutoCreate": {"false"}, "DurationSeconds": {strconv.Itoa(passwordSeconds)},
	}
	headers = map[string]string{"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
	return form.Encode(), headers, func(a Answer) (user, password, refusal string) {
		var answer struct {
			User     string `xml:"GetClusterCredentialsResult>DbUser"`
			Password string `xml:"GetClusterCredentialsResult>DbPassword"`
			Code     string `xml:"Error>Code"`
		}
		if xml.Unmarshal(a.Body, &answer) != nil {
			return "", "", ""
		}
		return answer.User, answer.Password, answer.Code
	}
}

// workgroupPassword returns a request of the JSON protocol 1.1. The user follows from the IAM user.
func workgroupPassword(
	c connection.Credential, d connection.RedshiftDatabase,
) (body string, headers map[string]string, read readPassword) {
	text, _ := json.Marshal(struct { // of texts and a number
		Database  string `json:"dbName"`
		Seconds   int    `json:"durationSeconds"`
		Workgroup string `json:"workgroupName"`
	}{c.Text(connection.FieldDatabase), passwordSeconds, d.Workgroup})
	headers = map[string]string{
		"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "RedshiftServerless.GetCredentials",
	}
	return string(text), headers, func(a Answer) (user, password, refusal string) {
		var answer struct {
			User     string `json:"dbUser"`
			Password string `json:"dbPassword"`
			Type     string `json:"__type"` // may have a namespace before, and a URL behind it
		}
		if json.Unmarshal(a.Body, &answer) != nil {
			return "", "", ""
		}
		refusal = answer.Type[strings.LastIndexByte(answer.Type, '#')+1:]
		refusal, _, _ = strings.Cut(refusal, ":")
		return answer.User, answer.Password, refusal
	}
}

// refusedByAWS returns the error for the code of an AWS error ("Common Errors" of both references, and the errors of
// the actions). Everything else is a failure of the API, among it the codes of throttling.
func refusedByAWS(code string) connection.Code {
	switch strings.TrimSuffix(strings.TrimSuffix(code, "Exception"), "Fault") {
	case "InvalidClientTokenId", "UnrecognizedClient", "MissingAuthenticationToken", "SignatureDoesNotMatch",
		"InvalidSignature", "IncompleteSignature", "RequestExpired", "ExpiredToken", // the key, or the clock
		"ClusterNotFound", "ResourceNotFound", "ValidationError", "Validation", "InvalidParameterValue":
		return connection.AuthFailed
	case "AccessDenied", "NotAuthorized", "UnauthorizedOperation", "OptInRequired", "UnsupportedOperation":
		return connection.AuthRejected
	}
	return connection.TokenUnavailable
}
