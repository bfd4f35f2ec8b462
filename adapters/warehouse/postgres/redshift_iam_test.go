package postgres_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"
	"golang.org/x/crypto/ssh"

	"github.com/atrium-hq/atrium/adapters/warehouse/postgres"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// redshiftWithAPI is a Redshift whose API gives temporary passwords. It returns the port of both. PostgreSQL itself
// checks the passwords: the API creates a role for them, which acts as the user whose name follows IAM:.
func redshiftWithAPI(t *testing.T, api *fixture.RedshiftAPI) uint16 {
	t.Helper()
	s := sharedRedshift(t)
	api.Give = func(user string) (string, error) {
		password, name := rand.Text(), strings.TrimPrefix(user, "IAM:")
		if name == api.IAMUser {
			name = "reader" // whose permissions an administrator has granted
		}
		var exists, isNew bool
		if err := s.admin.QueryRow(`SELECT count(*) FILTER (WHERE rolname = $1) > 0,
			count(*) FILTER (WHERE rolname = $2) > 0 FROM pg_roles`, name, user).Scan(&exists, &isNew); err != nil {
			return "", err
		}
		if !exists { // Redshift then gives a password that nobody has
			return password, nil
		}
		quotation := pq.QuoteIdentifier(user)
		statements := []string{`ALTER ROLE ` + quotation + ` PASSWORD ` + pq.QuoteLiteral(password) + ` VALID UNTIL ` +
			pq.QuoteLiteral(time.Now().Add(15*time.Minute).Format(time.RFC3339))}
		if !isNew {
			statements = append([]string{`CREATE ROLE ` + quotation + ` LOGIN IN ROLE ` + pq.QuoteIdentifier(name),
				`ALTER ROLE ` + quotation + ` SET role = ` + pq.QuoteLiteral(name)}, statements...)
		}
		for _, statement := range statements {
			if _, err := s.admin.Exec(statement); err != nil {
				return "", err
			}
		}
		return password, nil
	}
	return fixture.RedshiftFront(t, s.authority.ServerTLS(t, api.Hosts()...),
		net.JoinHostPort("127.0.0.1", strconv.Itoa(int(s.port))), api)
}

// redshiftKeyTarget is a target with the key of api, some of whose fields are changed.
func redshiftKeyTarget(t *testing.T, api *fixture.RedshiftAPI, port uint16, changes map[string]any) ports.Target {
	t.Helper()
	target := warehouses.HostTarget(t, connection.Redshift, map[string]any{
		"host": "127.0.0.1", "port": port, "database": "postgres", "username": "reader",
		"aws_access_key_id": api.KeyID, "aws_secret_access_key": api.Secret, "aws_region": api.Region,
		"cluster_identifier": api.Cluster, "tls_ca": sharedRedshift(t).authority.PEM,
	}, changes)
	target.Limits.Connect, target.Limits.Total = 20*time.Second, 30*time.Second
	return target
}

func redshiftWithKey(*testing.T) ports.Warehouse { return postgres.NewRedshiftAtOnePort(guard) }

// workgroup changes a target to that of a serverless workgroup.
var workgroup = map[string]any{"username": nil, "cluster_identifier": nil, "workgroup_name": "exampleworkgroup"}

// redshiftKeyHarness is redshiftHarness with a key, and with one of its tables. Failures after the sign-in are those of
// a password, whose tests read the other tables too: what is read does not depend on how the user has signed in.
func redshiftKeyHarness(t *testing.T, open func(*testing.T) ports.Warehouse) warehouses.Harness {
	h := redshiftHarness(open)
	api := fixture.NewRedshiftAPI()
	api.Secret = warehouses.Canary
	port := redshiftWithAPI(t, api)
	targetAs := func(changes map[string]any) func(*testing.T) ports.Target {
		return func(t *testing.T) ports.Target { return redshiftKeyTarget(t, api, port, changes) }
	}
	h.Reader, h.Writer = targetAs(nil), targetAs(map[string]any{"username": "writer"})
	h.Previews = map[connection.TableRef]connection.Preview{ref("kinds"): h.Previews[ref("kinds")]}
	h.Failures = nil
	for _, f := range redshiftKeyFailures {
		h.Failures = append(h.Failures, warehouses.Failure{Name: f.name, Code: f.code,
			Step: connection.Authenticate, Target: targetAs(f.changes)})
	}
	h.Never = map[connection.Code]string{}
	for _, code := range connection.Codes() {
		if code != connection.AuthFailed && code != connection.AuthRejected {
			h.Never[code] = "the tests with a password produce it"
		}
	}
	return h
}

// redshiftKeyFailures are the refusals of the APIs, and of the server after one.
var redshiftKeyFailures = []struct {
	name    string
	code    connection.Code
	changes map[string]any
}{
	{"another key", connection.AuthFailed, map[string]any{"aws_access_key_id": "AKIAI44QH8DHBEXAMPLE"}},
	{"another secret", connection.AuthFailed, map[string]any{"aws_secret_access_key": warehouses.Canary + "-"}},
	{"another cluster", connection.AuthFailed, map[string]any{"cluster_identifier": "another"}},
	{"a user who does not exist", connection.AuthFailed, map[string]any{"username": "nobody"}},
	{"a name that no user can have", connection.AuthFailed, map[string]any{"username": "a:b"}},
	{"a user that the policy does not allow", connection.AuthRejected, map[string]any{"username": "forbidden"}},
	{"a database that the policy does not allow", connection.AuthRejected, map[string]any{"database": "closed_to_all"}},
	{"another key for a workgroup", connection.AuthFailed,
		with(workgroup, "aws_access_key_id", "AKIAI44QH8DHBEXAMPLE")},
	{"another secret for a workgroup", connection.AuthFailed,
		with(workgroup, "aws_secret_access_key", warehouses.Canary+"-")},
	{"another workgroup", connection.AuthFailed, with(workgroup, "workgroup_name", "another")},
	{"a database of a workgroup that the policy does not allow", connection.AuthRejected,
		with(workgroup, "database", "closed_to_all")},
}

func with(changes map[string]any, field string, value any) map[string]any {
	all := maps.Clone(changes)
	all[field] = value
	return all
}

func TestRedshiftWithAKey(t *testing.T) {
	warehouses.Warehouse(t, redshiftKeyHarness(t, redshiftWithKey))
}

func TestRedshiftWithAKeyThroughTheChild(t *testing.T) {
	warehouses.Warehouse(t, redshiftKeyHarness(t, warehouses.Confined))
}

func TestThePasswordOfRedshiftIsNotFetchedThroughAnSSHServer(t *testing.T) {
	public, _, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	hostKey, err := ssh.NewPublicKey(public)
	require.NoError(t, err)
	api := fixture.NewRedshiftAPI()
	r := redshiftWithKey(t).Probe(t.Context(), redshiftKeyTarget(t, api, redshiftWithAPI(t, api), map[string]any{
		"ssh_host": "127.0.0.1", "ssh_port": fixture.ClosedPort(t), "ssh_username": "u", "ssh_password": "p",
		"ssh_host_key": string(ssh.MarshalAuthorizedKey(hostKey)),
	}))
	if api.Calls() != 1 || r.Failure() != connection.PortClosed {
		t.Errorf("%d requests, failure %q", api.Calls(), r.Failure())
	}
}

func TestAWorkgroupOfRedshiftIsReadWithAKey(t *testing.T) {
	for name, open := range map[string]func(*testing.T) ports.Warehouse{
		"directly": redshiftWithKey, "through the child": warehouses.Confined[*testing.T],
	} {
		t.Run(name, func(t *testing.T) {
			api := fixture.NewRedshiftAPI()
			w, target := open(t), redshiftKeyTarget(t, api, redshiftWithAPI(t, api), workgroup)
			if report := w.Probe(t.Context(), target); report.Failure() != "" {
				t.Errorf("the probe failed: %+v", report.Checks)
			}
			p, err := w.Preview(t.Context(), target, connection.PreviewQuery{Table: ref("kinds"), Rows: 1})
			if err != nil || len(p.Rows) != 1 {
				t.Errorf("%d rows, %v", len(p.Rows), err)
			}
			assert.Equal(t, "requests for a password in 2 calls", api.Calls(), 2)
		})
	}
}

func TestOnlyThePasswordOfTheAPISignsIn(t *testing.T) {
	api := fixture.NewRedshiftAPI()
	port := redshiftWithAPI(t, api)
	right := api.Give
	api.Give = func(user string) (string, error) {
		_, err := right(user)
		return "another", err
	}
	r := redshiftWithKey(t).Probe(t.Context(), redshiftKeyTarget(t, api, port, nil))
	assert.Equal(t, "failure", r.Failure(), connection.AuthFailed)
}

// redshiftFailure returns how a probe fails.
func redshiftFailure(t *testing.T, target ports.Target) connection.Failure {
	t.Helper()
	trial := connection.Trial{Report: redshiftWithKey(t).Probe(t.Context(), target), At: time.Unix(1, 0)}
	failedFault, ok := errors.AsType[*connection.ProbeError](trial.Failure(target.Credential))
	if !ok {
		t.Fatal("the probe did not fail")
	}
	for _, c := range trial.Report.Checks {
		if c.Result == connection.Failed && c.Step != connection.Authenticate {
			t.Errorf("failed at %s", c.Step)
		}
	}
	return failedFault.Failure
}

func TestARefusalOfRedshiftsAPISaysWhatToCheck(t *testing.T) {
	for name, changes := range map[string]map[string]any{"a cluster": nil, "a workgroup": workgroup} {
		for _, ahead := range []time.Duration{16 * time.Minute, -16 * time.Minute} {
			t.Run(name+", whose clock is off by "+ahead.String(), func(t *testing.T) {
				api := fixture.NewRedshiftAPI()
				api.Ahead = ahead
				f := redshiftFailure(t, redshiftKeyTarget(t, api, redshiftWithAPI(t, api), changes))
				if f.Code != connection.AuthFailed || !strings.Contains(f.Hint, "clock") ||
					!strings.Contains(f.Hint, "GetClusterCredentials") ||
					!slices.Contains(f.Fields, "aws_secret_access_key") || slices.Contains(f.Fields, "password") ||
					slices.Contains(f.Fields, "username") == (changes != nil) {
					t.Errorf("failure %+v", f)
				}
			})
		}
	}
}

func TestRedshiftsAPIThatGivesNothingIsNotTheDatabasesFault(t *testing.T) {
	respond := func(status int, kind, body string, headers ...string) func(http.ResponseWriter) bool {
		return func(w http.ResponseWriter) bool {
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	const textXML, amzJSON = "text/xml", "application/x-amz-json-1.1"
	throttledText := `<ErrorResponse xmlns="http://redshift.amazonaws.com/doc/2012-12-01/"><Error><Type>Sender</Type>` +
		`<Code>Throttling</Code><Message>Rate exceeded</Message></Error></ErrorResponse>`
	grants := func(user, password string) string {
		return `<R><GetClusterCredentialsResult><DbUser>` + user + `</DbUser><DbPassword>` + password +
			`</DbPassword></GetClusterCredentialsResult></R>`
	}
	for name, tt := range map[string]struct {
		changes map[string]any
		instead func(http.ResponseWriter) bool
	}{
		"limits requests": {nil, respond(400, textXML, throttledText)},
		"limits requests for a workgroup": {workgroup,
			respond(400, amzJSON, `{"__type": "ThrottlingException", "message": "Rate exceeded"}`)},
		"fails": {nil, respond(500, textXML, "")},
		"fails for a workgroup": {workgroup,
			respond(500, amzJSON, `{"__type": "InternalServerException"}`)},
		"responds with HTML":         {nil, respond(200, "text/html", "<html></html>")},
		"gives no user":              {nil, respond(200, textXML, grants("", "p"))},
		"gives no password":          {nil, respond(200, textXML, grants("IAM:reader", ""))},
		"gives a password with NUL":  {workgroup, respond(200, amzJSON, `{"dbUser": "u", "dbPassword": "a\u0000"}`)},
		"gives a very long password": {nil, respond(200, textXML, grants("IAM:reader", strings.Repeat("p", 5000)))},
		"sends more than is read":    {nil, respond(200, textXML, strings.Repeat("<a>", 1<<20))},
		"redirects": {nil, respond(307, textXML, "", "Location",
			"https://redshift.eu-central-1.amazonaws.com/")},
	} {
		t.Run("it "+name, func(t *testing.T) {
			api := fixture.NewRedshiftAPI()
			api.Instead = tt.instead
			f := redshiftFailure(t, redshiftKeyTarget(t, api, redshiftWithAPI(t, api), tt.changes))
			if f.Code != connection.TokenUnavailable || !strings.Contains(f.Hint, "redshift.<region>.amazonaws.com") ||
				!f.Retryable {
				t.Errorf("failure %+v", f)
			}
			assert.Equal(t, "requests", api.Calls(), 1)
		})
	}
	t.Run("it says nothing", func(t *testing.T) {
		target := redshiftKeyTarget(t, fixture.NewRedshiftAPI(), fixture.Listener(t, fixture.Silence), nil)
		target.Limits.Connect = warehouses.SilentFor
		if f := redshiftFailure(t, target); f.Code != connection.TokenUnavailable {
			t.Errorf("failure %+v", f)
		}
	})
	t.Run("another authority signed its certificate", func(t *testing.T) {
		api := fixture.NewRedshiftAPI()
		target := redshiftKeyTarget(t, api, redshiftWithAPI(t, api),
			map[string]any{"tls_ca": fixture.NewAuthority(t).PEM})
		if f := redshiftFailure(t, target); f.Code != connection.TokenUnavailable || api.Calls() != 0 {
			t.Errorf("failure %+v after %d requests", f, api.Calls())
		}
	})
}

func TestOnlyRedshiftWithAKeyMayUseThePortOfTheAPI(t *testing.T) {
	api := fixture.NewRedshiftAPI()
	extra := redshiftKeyTarget(t, api, 5439, nil).Credential
	other := redshiftTarget(t, sharedRedshift(t), connection.Redshift, nil).Credential
	if !extra.AllowsPort(443) || other.AllowsPort(443) {
		t.Error("the port 443 is not allowed with a key, or allowed without")
	}
}
