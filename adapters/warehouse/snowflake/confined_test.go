package snowflake_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"testing"

	"github.com/atrium-hq/atrium/adapters/confine"
	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/adapters/warehouse/snowflake"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
	"github.com/atrium-hq/atrium/test/contract"
	"github.com/atrium-hq/atrium/test/fixture"
)

// childMode is the argument that makes this test binary a child process. Behind it is the authority that
// the child trusts.
const childMode = "probe-worker"

var (
	authority *fixture.Authority
	program   string          // what runs as a child
	key       *rsa.PrivateKey // of every account: to make one takes long
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == childMode {
		text, err := base64.StdEncoding.DecodeString(os.Args[2])
		roots := x509.NewCertPool()
		if err != nil || !roots.AppendCertsFromPEM(text) {
			os.Exit(1)
		}
		os.Exit(confine.Serve(map[string]confine.Job{
			warehouse.JobName: warehouse.Job(map[connection.Kind]ports.Warehouse{connection.Snowflake: snowflake.NewAt(guard, roots, at)}),
		}, os.Stdin, os.Stdout))
	}
	authority = fixture.NewAuthority(&setup{})
	var err error
	if key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		panic(err)
	}
	var remove func()
	program, remove = fixture.Unraced()
	code := m.Run()
	remove()
	os.Exit(code)
}

// setup stands for a test before there is one.
type setup struct{ testing.TB }

func (*setup) Helper()          {}
func (*setup) Fatal(why ...any) { panic(fmt.Sprint(why...)) }

func pemOf(t *testing.T, key *rsa.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func confined(t *testing.T) ports.Warehouse {
	t.Helper()
	runner, err := confine.New(confine.DefaultLimits(), 4, program, childMode, base64.StdEncoding.EncodeToString([]byte(authority.PEM)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := runner.Close(); err != nil {
			t.Error(err)
		}
	})
	return warehouse.NewConfined(runner.Run)
}

func TestWarehouseThroughTheChild(t *testing.T) { contract.Warehouse(t, rig(confined)) }
