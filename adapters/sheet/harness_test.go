package sheet_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/adapters/egress"
	"github.com/atrium-hq/atrium/adapters/sheet"
	"github.com/atrium-hq/atrium/adapters/sheet/microsoft"
	"github.com/atrium-hq/atrium/domain/identity"
	"github.com/atrium-hq/atrium/domain/source"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/contract/sheets"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/fixture/xlsx"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

// childMode is the argument that makes this test binary a child process; the folder of the files
// follows, and an authority if it is to trust one.
const childMode = "probe-worker"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childMode {
		var roots *tls.Config
		if len(os.Args) > 3 { // the authority to trust, in PEM
			roots = &tls.Config{RootCAs: x509.NewCertPool()}
			roots.RootCAs.AppendCertsFromPEM([]byte(os.Args[3]))
		}
		documents := sheet.NewDocuments(guard, roots, os.Args[2], limits())
		needs := sheet.Needs(os.Args[2], func(*ports.StoredFile) string { return "" })
		if len(os.Args) > 4 { // where Microsoft is
			documents = sheet.NewDocuments(anyPort, roots, os.Args[2], limits()).
				At(microsoft.Config{Login: os.Args[4], Graph: os.Args[4]})
			needs = func(json.RawMessage) ports.JobNeeds { return ports.JobNeeds{Network: true} }
		}
		os.Exit(confine.Serve(map[string]confine.Job{
			sheet.JobName: {Do: sheet.Job(documents), Stream: sheet.RowsJob(documents), Needs: needs},
		}, os.Stdin, os.Stdout))
	}
	var remove func()
	program, remove = fixture.Unraced()
	code := m.Run()
	remove()
	os.Exit(code)
}

// program is what runs as a child.
var program string

// loopback is the policy of an org that may reach the test's servers.
var loopback = identity.Egress{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}

func guard(e identity.Egress, allows func(uint16) bool, l sheet.Limits, end time.Time) sheet.Network {
	return egress.New(egress.Rules{Allow: e.Allow, Port: allows, Connect: l.Connect, Deadline: end,
		Bytes: l.Bytes + 1<<20})
}

// limits are those of releases. Only make prove has their durations: what a child may use of the processor bounds it
// on a busy machine too.
func limits() sheet.Limits {
	l := sheet.DefaultLimits()
	l.Connect, l.Total = proof.Sample(proof.Patience, l.Connect), proof.Sample(proof.Patience, l.Total)
	return l
}

// childLimits are those of releases.
func childLimits() confine.Limits {
	l := confine.DefaultLimits()
	l.Memory, l.CPU = sheet.ChildMemory, sheet.ChildCPU
	return l
}

func confined(t testing.TB, arguments ...string) *sheet.Confined {
	t.Helper()
	runner, err := confine.New(childLimits(), 4, append([]string{program, childMode}, arguments...)...)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, runner.Close())
	})
	return sheet.NewConfined(runner.Run, runner.Stream, limits().Total)
}

// host serves files by https. A test may put anything else at a path.
type host struct {
	*httptest.Server
	mux *http.ServeMux
}

func newHost(t testing.TB) *host {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	return &host{Server: server, mux: mux}
}

// pem is the host's certificate.
func (h *host) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}))
}

// put serves content, which says of itself what is not true.
func (h *host) put(path string, content []byte) ports.SheetTarget {
	h.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(content)
	})
	return h.at(path)
}

func (h *host) at(path string) ports.SheetTarget {
	return ports.SheetTarget{Egress: loopback, Location: source.SheetLocation{URL: h.URL + path}}
}

// documents returns what reads the host's files, in this process.
func (h *host) documents(l sheet.Limits) *sheet.Documents {
	roots := &tls.Config{RootCAs: h.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	return sheet.NewDocuments(guard, roots, "", l)
}

func file(name string) ports.SheetTarget {
	return ports.SheetTarget{Location: source.SheetLocation{URL: source.FileScheme + name},
		Offer: ports.SheetOffer{Files: true}}
}

// formats are all that documents are written in.
var formats = []struct {
	name  string
	write func(fixture.Workbook, testing.TB) []byte
}{
	{"xlsx", xlsx.Write}, {"ods", fixture.Workbook.ODS}, {"csv", fixture.Workbook.CSV},
}

func TestSheetsByHTTPS(t *testing.T) {
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			h := newHost(t)
			sheets.Sheets(t, sheets.Harness{
				Sheets: h.documents(limits()), Absent: h.at("/absent." + f.name), OneTab: f.name == "csv",
				Put: func(t *testing.T, w fixture.Workbook) ports.SheetTarget {
					return h.put("/"+t.Name()+"/"+w.Name+"."+f.name, f.write(w, t))
				},
			})
		})
	}
}

func TestSheetsOfTheFolderThroughTheChild(t *testing.T) {
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			folder := t.TempDir()
			sheets.Sheets(t, sheets.Harness{
				Sheets: confined(t, folder), Absent: file("absent." + f.name), OneTab: f.name == "csv",
				Put: func(t *testing.T, w fixture.Workbook) ports.SheetTarget {
					return put(t, folder, w.Name+"."+f.name, f.write(w, t))
				},
			})
		})
	}
}

// put makes a file in the folder.
func put(t testing.TB, folder, name string, content []byte) ports.SheetTarget {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
	return file(name)
}
