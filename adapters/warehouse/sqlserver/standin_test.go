package sqlserver_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/contract/warehouses"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// tsql runs a statement with FreeTDS's client, which shares no code with the stand-in or with Atrium's client.
func tsql(t *testing.T, s *server, encryption, password, sql string) string {
	t.Helper()
	folder := t.TempDir()
	authority, config := filepath.Join(folder, "ca.pem"), filepath.Join(folder, "freetds.conf")
	for path, text := range map[string]string{
		authority: s.authority.PEM,
		config: fmt.Sprintf("[standin]\nhost = 127.0.0.1\nport = %d\ntds version = 7.4\nencryption = %s\n"+
			"ca file = %s\ncheck certificate hostname = no\nclient charset = UTF-8\n", s.Port, encryption, authority),
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	ctx, cancel := context.WithTimeout(t.Context(), proof.Patience)
	defer cancel()
	command := exec.CommandContext(ctx, services.TSQL(t), "-S", "standin", "-U", "reader", "-P", password,
		"-D", "Sales", "-t", "|")
	command.Env = append(os.Environ(), "FREETDSCONF="+config, "HOME="+folder, "LC_ALL=C.UTF-8")
	command.Stdin = strings.NewReader(sql + "\ngo\n")
	out, err := command.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("tsql: %v\n%s", err, out)
	}
	return string(out)
}

func TestFreeTDSReadsTheStandIn(t *testing.T) {
	s := shared()
	const all = `SELECT TOP (3) [id], [tiny], [small], [whole], [sold], [price], [exact], [paid], [cash], [rate],
		[older], [key], LEFT(CONVERT(nvarchar(max), [name]), 8), SUBSTRING(CONVERT(varbinary(max), [raw]), 1, 4),
		[born], [opens], [at], [seen] FROM [dbo].[kinds] ORDER BY [id]`
	t.Run("the values of each type, over TLS", func(t *testing.T) {
		out := tsql(t, s, "require", warehouses.Canary, all)
		for _, want := range []string{
			"1|0|-32768|-5|1|12.50|99999999999999999999999999999999999999|922337203685477.5807|1.5000|0.1000",
			"|Jan  1 1900 12:00AM|61F0C404-5CB3-11E7-907B-A6006AD3DBA0|Ada|00000000|Jan  1 1 12:00AM|",
			"|Jan  1 1900 08:30AM|Jan  2 2026 03:04AM",
			"2|255|NULL|NULL|NULL|NULL|0|NULL|0.0000|NULL|Jun  6 2079 11:59PM|NULL|éééééééé|NULL|Dec 31 9999",
			"4611686018427387904|7|1|5|0|-0.05|-1|-0.0001|-214748.3648|-1.0000000000000001e+300|Jan  2 2026 03:04AM|",
			"|Jan  1 1 12:00AM|Jan  2 2026 03:04AM",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
	})
	t.Run("a table that is larger than a packet, without TLS", func(t *testing.T) {
		plain := newServer(t, fixture.SQLServerPlain)
		out := tsql(t, plain, "off", warehouses.Canary,
			`SELECT TOP (3) LEFT(CONVERT(nvarchar(max), [c7]), 512), LEFT(CONVERT(nvarchar(max), [c8]), 512), `+
				`LEFT(CONVERT(nvarchar(max), [c9]), 512), LEFT(CONVERT(nvarchar(max), [c6]), 512), `+
				`LEFT(CONVERT(nvarchar(max), [c5]), 512) FROM [dbo].[wide]`)
		assert.Contains(t, "out", out, strings.Repeat("7", 512)+"|"+strings.Repeat("8", 512)+"|")
	})
	for name, tt := range map[string]struct{ password, sql, want string }{
		"a wrong password":          {"wrong", all, "Msg 18456"},
		"a statement it cannot run": {warehouses.Canary, "SELECT 1", "Msg 102"},
		"an error of a view": {warehouses.Canary,
			"SELECT TOP (1) LEFT(CONVERT(nvarchar(max), [what]), 512) FROM [dbo].[divided]", "Msg 8134"},
		"a table that may not be read": {warehouses.Canary,
			"SELECT TOP (1) LEFT(CONVERT(nvarchar(max), [what]), 512) FROM [dbo].[members]", "Msg 229"},
	} {
		t.Run(name, func(t *testing.T) {
			if out := tsql(t, s, "require", tt.password, tt.sql); !strings.Contains(out, tt.want) {
				t.Errorf("no %q in\n%s", tt.want, out)
			}
		})
	}
}
