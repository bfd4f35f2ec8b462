package services_test

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

func TestStartClickHouse(t *testing.T) {
	const users = `<yandex>
		<profiles><default><max_memory_usage>123456789</max_memory_usage></default></profiles>
		<users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
		<quotas><default/></quotas>
	</yandex>`
	server, err := services.StartClickHouse("<include_from>more.xml</include_from>", users,
		map[string]string{"more.xml": "<yandex/>"})
	require.NoError(t, err)
	defer server.Stop()
	ask := func(sql string) string {
		answer, err := http.Post(server.URL, "text/plain", strings.NewReader(sql))
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%d, %v: %s", answer.StatusCode, err, text)
		}
		return strings.TrimSpace(string(text))
	}
	if got := ask(`SELECT value FROM system.settings WHERE name = 'max_memory_usage'`); got != "123456789" {
		t.Errorf("max_memory_usage = %s", got)
	}
	ask(`CREATE TABLE t (a String) ENGINE = Log`)
	folder := strings.TrimSuffix(ask(`SELECT metadata_path FROM system.tables WHERE name = 't'`),
		"/data/metadata/default/t.sql")
	if _, err := os.Stat(folder + "/more.xml"); err != nil {
		t.Errorf("the file beside the data: %v", err)
	}
	server.Stop()
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Stop, folder %s: %v", folder, err)
	}
}
