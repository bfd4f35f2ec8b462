package bucket

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// server is a transport that returns one response after another, and keeps the requests.
type server struct {
	responses []response
	requests  []string
	bodies    []string
}

type response struct {
	status int
	header [2]string
	body   string
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "/")
	region := strings.Split(scope, "/")[1]
	s.requests = append(s.requests, r.Method+" "+r.URL.String()+" "+region)
	s.bodies = append(s.bodies, string(body))
	if len(s.responses) == 0 {
		return nil, errors.New("no more responses")
	}
	next := s.responses[0]
	s.responses = s.responses[1:]
	w := httptest.NewRecorder()
	if next.header[0] != "" {
		w.Header().Set(next.header[0], next.header[1])
	}
	w.WriteHeader(next.status)
	_, _ = w.WriteString(next.body)
	return w.Result(), nil
}

func open(t *testing.T, name, endpoint, region string, responses ...response) (*Bucket, *server) {
	t.Helper()
	var u *url.URL
	if endpoint != "" {
		address, err := url.Parse(endpoint)
		require.NoError(t, err)
		u = address
	}
	b, s := Open(name, u, region, Credentials{ID: "id", Secret: "secret"}), &server{responses: responses}
	b.client.Transport = s
	return b, s
}

const lastPage = `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>false</IsTruncated>
<Contents><Key>of/c &amp; d</Key></Contents></ListBucketResult>`

func TestKeysAreThoseOfAllPages(t *testing.T) {
	b, s := open(t, "audit", "http://store:9000/ignored", "here",
		response{status: 200, body: `<ListBucketResult><IsTruncated>true</IsTruncated><Contents><Key>of/a</Key></Contents>
			<Contents><Key>of/b</Key></Contents><NextContinuationToken>1/+=</NextContinuationToken></ListBucketResult>`},
		response{status: 200, body: lastPage})
	keys, err := b.Keys(t.Context(), "of/ü ")
	if err != nil || !slices.Equal(keys, []string{"of/a", "of/b", "of/c & d"}) {
		t.Errorf("%q, %v", keys, err)
	}
	want := []string{"GET http://store:9000/audit/?delimiter=%2F&list-type=2&prefix=of%2F%C3%BC%20 here",
		"GET http://store:9000/audit/?continuation-token=1%2F%2B%3D&delimiter=%2F&list-type=2&prefix=of%2F%C3%BC%20 here"}
	assert.EqualSlice(t, "requests", s.requests, want)
}

func TestAListWithoutAnEndIsAnError(t *testing.T) {
	page := response{status: 200, body: `<ListBucketResult><IsTruncated>true</IsTruncated>
		<NextContinuationToken>a</NextContinuationToken></ListBucketResult>`}
	for _, pages := range [][]response{{page, page}, {{status: 200,
		body: "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"}}} {
		b, _ := open(t, "audit", "http://store", "here", pages...)
		if _, err := b.Keys(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "no end") {
			t.Error(err)
		}
	}
}

func TestTheRegionIsWhereTheServerSays(t *testing.T) {
	malformedText := `<Error><Code>AuthorizationHeaderMalformed</Code><Message>wrong</Message>
		<Region>eu-west-1</Region></Error>`
	for name, first := range map[string]response{
		"in the body":   {status: 400, body: malformedText},
		"in the header": {status: 301, header: [2]string{"X-Amz-Bucket-Region", "eu-west-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			b, s := open(t, "audit", "", "", first, response{status: 200, body: lastPage}, response{status: 200})
			if _, err := b.Keys(t.Context(), "of/"); err != nil {
				t.Fatal(err)
			}
			require.NoError(t, b.Put(t.Context(), "of/x y$", "text/plain", []byte("body")))
			want := []string{
				"GET https://audit.s3.us-east-1.amazonaws.com/?delimiter=%2F&list-type=2&prefix=of%2F us-east-1",
				"GET https://audit.s3.eu-west-1.amazonaws.com/?delimiter=%2F&list-type=2&prefix=of%2F eu-west-1",
				"PUT https://audit.s3.eu-west-1.amazonaws.com/of/x%20y%24 eu-west-1",
			}
			if !slices.Equal(s.requests, want) || s.bodies[2] != "body" {
				t.Errorf("requests %q with %q", s.requests, s.bodies)
			}
		})
	}
	b, s := open(t, "audit", "", "eu-north-1", response{status: 400, body: malformedText})
	if _, err := b.Keys(t.Context(), ""); err == nil || len(s.requests) != 1 {
		t.Errorf("a region that is set is replaced: %v, %q", err, s.requests)
	}
}

func TestTheBucketIsInTheHostOnlyWhereItMustBe(t *testing.T) {
	for _, test := range []struct{ name, endpoint, region, want string }{
		{"audit", "", "eu-west-1", "https://audit.s3.eu-west-1.amazonaws.com/k"},
		{"au.dit", "", "eu-west-1", "https://s3.eu-west-1.amazonaws.com/au.dit/k"},
		{"audit", "", "cn-north-1", "https://audit.s3.cn-north-1.amazonaws.com.cn/k"},
		{"audit", "https://s3.dualstack.us-east-2.amazonaws.com", "us-east-2",
			"https://audit.s3.dualstack.us-east-2.amazonaws.com/k"},
		{"audit", "https://oss-eu-central-1.aliyuncs.com", "x", "https://audit.oss-eu-central-1.aliyuncs.com/k"},
		{"audit", "http://127.0.0.1:9000/", "x", "http://127.0.0.1:9000/audit/k"},
		{"audit", "https://amazonaws.com.example.org", "x", "https://amazonaws.com.example.org/audit/k"},
	} {
		b, _ := open(t, test.name, test.endpoint, test.region)
		if got := b.url(test.region, "k", nil); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

func TestRefusalsAreRetriedOnlyIfTheyAreTemporary(t *testing.T) {
	conflict := `<Error><Code>ConditionalRequestConflict</Code><Message>again</Message></Error>`
	for name, test := range map[string]struct {
		responses []response
		failure   string
		tries     int
	}{
		"busy":                    {[]response{{status: 503}, {status: 429}, {status: 500}, {status: 200}}, "", 4},
		"busy for long":           {slices.Repeat([]response{{status: 503}}, 9), "ServiceUnavailable: 503", 5},
		"a connection that fails": {nil, "no more responses", 5},
		"two writes that meet":    {[]response{{status: 409, body: conflict}, {status: 200}}, "", 2},
		"forbidden by a proxy":    {[]response{{status: 403, body: "<html>no"}}, "AccessDenied: 403 Forbidden", 1},
		"forbidden": {[]response{{status: 403,
			body: "<Error><Code>SignatureDoesNotMatch</Code><Message>no</Message></Error>"}},
			"SignatureDoesNotMatch: no", 1},
		"the object exists": {[]response{{status: 412}}, ErrExists.Error(), 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, s := open(t, "audit", "http://store", "here", test.responses...)
				err := b.Put(t.Context(), "key", "text/plain", []byte("body"))
				if (err == nil) != (test.failure == "") ||
					(err != nil && !strings.Contains(err.Error(), test.failure)) {
					t.Errorf("%v instead of %q", err, test.failure)
				}
				if len(s.requests) != test.tries || slices.Contains(s.bodies, "") {
					t.Errorf("%d tries with %q", len(s.requests), s.bodies)
				}
			})
		})
	}
}

func TestCredentialsAreFoundWhereTheyAreDocumented(t *testing.T) {
	home := t.TempDir()
	other := filepath.Join(home, "other")
	write := func(file, text string) {
		t.Helper()
		require.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)))
	}
	write(filepath.Join(home, ".aws", "credentials"), "; mine\n[default]\n# aws_access_key_id = no\n"+
		"aws_access_key_id = file-id\nAWS_SECRET_ACCESS_KEY=file=secret\n\n[ audit ]\naws_access_key_id=audit-id\n"+
		"aws_secret_access_key=audit-secret\naws_session_token=audit-token\n[empty]\nregion=x\n")
	write(other, "[default]\naws_access_key_id=other-id\naws_secret_access_key=other-secret\n")
	for name, test := range map[string]struct {
		environment map[string]string
		want        Credentials
		failure     string
	}{
		"the environment": {map[string]string{"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret",
			"AWS_SESSION_TOKEN": "token"}, Credentials{"id", "secret", "token"}, ""},
		"the file": {nil, Credentials{"file-id", "file=secret", ""}, ""},
		"a half":   {map[string]string{"AWS_ACCESS_KEY_ID": "id"}, Credentials{"file-id", "file=secret", ""}, ""},
		"a profile": {map[string]string{"AWS_PROFILE": "audit"},
			Credentials{"audit-id", "audit-secret", "audit-token"}, ""},
		"another file": {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": other},
			Credentials{"other-id", "other-secret", ""}, ""},
		"no file": {map[string]string{"AWS_SHARED_CREDENTIALS_FILE": "/none"}, Credentials{},
			"set AWS_ACCESS_KEY_ID"},
		"an empty profile": {map[string]string{"AWS_PROFILE": "empty"}, Credentials{}, "the profile empty of"},
		"no profile":       {map[string]string{"AWS_PROFILE": "none"}, Credentials{}, "the profile none of"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{"ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "PROFILE",
				"SHARED_CREDENTIALS_FILE"} {
				t.Setenv("AWS_"+variable, test.environment["AWS_"+variable])
			}
			t.Setenv("HOME", home)
			got, err := FindCredentials()
			if got != test.want || (err == nil) != (test.failure == "") ||
				(err != nil && !strings.Contains(err.Error(), test.failure)) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}
