package sheet_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/sheet"
	"github.com/atrium-hq/atrium/adapters/sheet/microsoft"
	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/contract/sheets"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/require"
)

// anyPort is guard for servers of a test that stand in for ones at port 443.
func anyPort(e identity.Egress, _ func(uint16) bool, l sheet.Limits, end time.Time) sheet.Network {
	return egress.New(egress.Rules{Allow: e.Allow, Connect: l.Connect,
		Port: func(port uint16) bool { return port == 443 || port >= 1024 }, Deadline: end, Bytes: l.Bytes + 1<<20})
}

// atMicrosoft returns what reads files of m in this process.
func atMicrosoft(m *fixture.Microsoft) *sheet.Documents {
	roots := &tls.Config{RootCAs: m.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	return sheet.NewDocuments(anyPort, roots, "", limits()).At(microsoft.Config{Login: m.URL, Graph: m.URL})
}

// application is m's, with some fields changed.
func application(t testing.TB, m *fixture.Microsoft, changes map[string]string) connection.Credential {
	t.Helper()
	fields := map[string]string{"tenant_id": m.Tenant, "client_id": m.ClientID, "client_secret": m.Secret}
	maps.Copy(fields, changes)
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	c, err := connection.ParseCredential(connection.Microsoft365, text)
	require.NoError(t, err)
	return c
}

func ofMicrosoft(t testing.TB, m *fixture.Microsoft, url string) ports.SheetTarget {
	return ports.SheetTarget{Location: source.SheetLocation{URL: url}, Egress: loopback,
		Account: application(t, m, nil), Within: limits().Total}
}

func TestSheetsOfMicrosoft(t *testing.T) {
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			m := fixture.NewMicrosoft(t)
			sheets.Sheets(t, sheets.Harness{
				Sheets: sheet.NewRouter(atMicrosoft(m), nil),
				Absent: ofMicrosoft(t, m, "https://contoso.sharepoint.com/:x:/s/team/absent"),
				OneTab: f.name == "csv",
				Put: func(t *testing.T, w fixture.Workbook) ports.SheetTarget {
					return ofMicrosoft(t, m, m.Put(fixture.MicrosoftFile{
						Name: w.Name + "." + f.name, Content: f.write(w, t)}))
				},
			})
		})
	}
}

func TestSheetsOfMicrosoftThroughTheChild(t *testing.T) {
	m := fixture.NewMicrosoft(t)
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.Certificate().Raw}))
	sheets := confined(t, t.TempDir(), authority, m.URL)
	link := m.Put(fixture.MicrosoftFile{Name: "people.csv", Content: []byte("Name,E-mail\nAnn,ann@example.com\n")})
	s, err := sheets.Preview(t.Context(), "", ofMicrosoft(t, m, link))
	if err != nil || s.Title != "people" || len(s.Preview.Headers) != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	rows := 0
	target := ofMicrosoft(t, m, link)
	target.Location.HeaderRow = 1
	err = sheets.Rows(t.Context(), "", target,
		source.RowsQuery{Columns: []string{"Name"}, Exact: []bool{false}, Limit: 10}, func(b column.Batch) error {
			rows += b.Rows.Len()
			return nil
		})
	if err != nil || rows != 1 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

func TestATokenIsSentOnlyToTheAPI(t *testing.T) {
	m := fixture.NewMicrosoft(t)
	target := ofMicrosoft(t, m, m.PutItem(fixture.MicrosoftFile{Name: "a.csv", Content: []byte("Name\nAnn\n")}))
	if _, err := atMicrosoft(m).Preview(t.Context(), "", target); err != nil {
		t.Fatal(err)
	}
	heard := m.Heard()
	if len(heard) != 4 || heard[0] != "token" || heard[3] != "/download.aspx" ||
		!strings.HasSuffix(heard[2], "/content") {
		t.Errorf("requests: %q", heard)
	}
	t.Run("and not to a server that a download leads to", func(t *testing.T) {
		for name, tt := range map[string]struct {
			to   string
			want *fault.Error
		}{
			"in the network of the server": {"https://127.0.0.2:1/x", source.ErrURLNotAllowed},
			"without encryption":           {"http://127.0.0.1:1/x", source.ErrSheetFailed},
			"with a password":              {"https://a:b@127.0.0.1:1/x", source.ErrSheetFailed},
			"nowhere":                      {"/x", source.ErrSheetFailed},
		} {
			m.Redirect(tt.to)
			if _, err := atMicrosoft(m).Preview(t.Context(), "", target); !errors.Is(err, tt.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if i := slices.IndexFunc(m.Heard(), func(s string) bool { return strings.HasPrefix(s, "token in") }); i >= 0 {
			t.Error("a server that is not the API got the token")
		}
	})
}

func TestWhatMicrosoftRefusesIsSaid(t *testing.T) {
	m := fixture.NewMicrosoft(t)
	csv := fixture.MicrosoftFile{Name: "a.csv", Content: []byte("Name\nAnn\n")}
	good, notShared := m.Put(csv), source.ErrSheetNotShared
	const graph = "https://graph.microsoft.com/v1.0/"
	text := func(change func(*fixture.MicrosoftFile)) string {
		f := csv
		change(&f)
		return m.Put(f)
	}
	fails := func(status int, code, wait string) string {
		return text(func(f *fixture.MicrosoftFile) { f.Status, f.Code, f.Wait = status, code, wait })
	}
	for name, tt := range map[string]struct {
		url     string
		account map[string]string
		secret  int // error of the right secret
		want    *fault.Error
		says    string
	}{
		"a wrong secret":       {good, map[string]string{"client_secret": "x"}, 0, notShared, "client secret"},
		"an expired secret":    {good, nil, 7000222, notShared, "expired"},
		"an unknown tenant":    {good, map[string]string{"tenant_id": "x.example.com"}, 0, notShared, "tenant"},
		"an unknown error":     {good, nil, 53003, notShared, "credential"},
		"too many sign-ins":    {good, nil, 429, source.ErrSheetRateLimited, ""},
		"no permission":        {fails(403, "accessDenied", ""), nil, 0, notShared, "Files.Read.All"},
		"a file that is gone":  {fails(404, "itemNotFound", ""), nil, 0, source.ErrSheetNotFound, ""},
		"too many requests":    {fails(429, "activityLimitReached", "17"), nil, 0, source.ErrSheetRateLimited, ""},
		"a service that rests": {fails(503, "serviceNotAvailable", "17"), nil, 0, source.ErrSheetRateLimited, ""},
		"a service that fails": {fails(500, "generalException", ""), nil, 0, source.ErrSheetFailed, ""},
		"a folder": {text(func(f *fixture.MicrosoftFile) { f.Folder = true }), nil, 0,
			source.ErrUnsupportedFormat, "file"},
		"a file that is too large": {text(func(f *fixture.MicrosoftFile) { f.Size = source.MaxSheetBytes + 1 }), nil, 0,
			source.ErrFileTooLarge, ""},
		"a picture": {text(func(f *fixture.MicrosoftFile) { f.Content = []byte("\x89PNG\r\n\x1a\n\x00\x00") }), nil, 0,
			source.ErrUnsupportedFormat, ""},
		"a link of a personal account": {"https://1drv.ms/x/s!abc", nil, 0, source.ErrSheetNotFound, "link"},
		"a path of the API":            {graph + "users", nil, 0, source.ErrURLNotAllowed, ""},
		"a path above":                 {graph + "drives/a/items/..%2f..", nil, 0, source.ErrURLNotAllowed, ""},
		"a query":                      {graph + "drives/a/items/b?x=1", nil, 0, source.ErrURLNotAllowed, ""},
	} {
		m.SecretError = tt.secret
		target := ofMicrosoft(t, m, tt.url)
		target.Account = application(t, m, tt.account)
		_, err := sheet.NewRouter(atMicrosoft(m), nil).Preview(t.Context(), "", target)
		failure, ok := errors.AsType[*fault.Error](err)
		if !errors.Is(err, tt.want) || !ok || !strings.Contains(failure.Detail, tt.says) ||
			strings.Contains(failure.Detail, "canary") {
			t.Errorf("%s: %v", name, err)
		}
		if tt.want == source.ErrSheetRateLimited && tt.secret == 0 && failure.RetryAfter != 17*time.Second {
			t.Errorf("%s: retry after %v", name, failure.RetryAfter)
		}
	}
}

func TestAFileOfMicrosoftWithoutAConnectionSaysWhatIsMissing(t *testing.T) {
	for url, want := range map[string]bool{
		"https://contoso.sharepoint.com/:x:/s/team/a": true, "https://example.com/a.csv": false,
	} {
		_, err := sheet.NewRouter(refusing{}, nil).Preview(t.Context(), "",
			ports.SheetTarget{Location: source.SheetLocation{URL: url}})
		failure, ok := errors.AsType[*fault.Error](err)
		if !ok || !errors.Is(err, source.ErrSheetNotShared) ||
			strings.Contains(failure.Detail, "microsoft_365") != want {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// refusing is a host that requires a sign-in.
type refusing struct{ ports.Sheets }

func (refusing) Preview(context.Context, identity.WorkspaceID, ports.SheetTarget) (source.Sheet, error) {
	return source.Sheet{}, source.ErrSheetNotShared
}

func TestAnApplicationIsProbedBySigningIn(t *testing.T) {
	m := fixture.NewMicrosoft(t)
	probe := func(changes map[string]string) connection.Report {
		return microsoft.NewAccounts(microsoft.Config{Login: m.URL, Graph: m.URL}, m.Client()).Probe(t.Context(),
			ports.Target{Credential: application(t, m, changes), Limits: ports.DefaultLimits()})
	}
	if r := probe(nil); r.Failure() != "" || r.Server.Product != "Microsoft 365" {
		t.Errorf("%+v", r)
	}
	if r := probe(map[string]string{"client_secret": "x"}); r.Failure() != connection.AuthFailed {
		t.Errorf("a wrong secret: %+v", r)
	}
	m.SecretError = 53003
	if r := probe(nil); r.Failure() != connection.AuthRejected {
		t.Errorf("a rule: %+v", r)
	}
	m.Close()
	if r := probe(nil); r.Failure() != connection.HostUnreachable {
		t.Errorf("nobody is there: %+v", r)
	}
}

// keeping remembers what it is asked for.
type keeping struct {
	ports.Sheets
	of *ports.SheetTarget
}

func (k keeping) Preview(_ context.Context, _ identity.WorkspaceID, target ports.SheetTarget) (source.Sheet, error) {
	*k.of = target
	return source.Sheet{}, nil
}

func TestAFileGetsTheLocaleOfItsOrgAndNoCredentialOfAnotherService(t *testing.T) {
	var got ports.SheetTarget
	target := ports.SheetTarget{Location: source.SheetLocation{URL: "https://example.com/a.xlsx"}, Egress: loopback,
		Account: googleAccount(t), Offer: ports.SheetOffer{Files: true, Locale: "de-DE", GoogleAPIKey: secret.New("x")}}
	if _, err := sheet.NewRouter(keeping{of: &got}, nil).Preview(t.Context(), "", target); err != nil {
		t.Fatal(err)
	}
	if got.Offer.Locale != "de-DE" || !got.Offer.Files || !got.Offer.GoogleAPIKey.IsZero() || got.Account.Kind() != "" {
		t.Errorf("%+v", got)
	}
}

func googleAccount(t *testing.T) connection.Credential {
	t.Helper()
	c, err := connection.ParseCredential(connection.GoogleSheets,
		[]byte(`{"client_email": "a@example.com", "private_key": "-----BEGIN PRIVATE KEY-----"}`))
	require.NoError(t, err)
	return c
}
