package node

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/configs"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestTheLockFileNamesTheAddressOfARunningServer(t *testing.T) {
	c, err := configs.Load(configs.Source{Data: t.TempDir()})
	require.NoError(t, err)
	assert.Equal(t, "before any start", ServerAddr(c), "")
	unlock, err := lockDatabase(c, "127.0.0.1:9000")
	require.NoError(t, err)
	assert.Equal(t, "while it runs", ServerAddr(c), "127.0.0.1:9000")
	want := "at 127.0.0.1:9000): stop it first"
	if _, err := lockDatabase(c, ":1"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a second server: %v", err)
	}
	unlock()
	assert.Equal(t, "after its end", ServerAddr(c), "")
	lock := filepath.Join(c.Data, "atrium.db"+lockSuffix)
	// a process ID that no process has, as after SIGKILL; and the file of an earlier version
	for _, text := range []string{"999999999\n127.0.0.1:9000\n", "1\n", ""} {
		require.NoError(t, os.WriteFile(lock, []byte(text), 0o600))
		if got := ServerAddr(c); got != "" {
			t.Errorf("with %q: %q", text, got)
		}
	}
}

func TestAPortInUseSaysWhatToDo(t *testing.T) {
	batch, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = batch.Close() }()
	var c configs.Config
	c.Server.Addr = batch.Addr().String()
	_, _, err = listen(t.Context(), c, true)
	want := "server.addr: another program uses " + c.Server.Addr + ": stop it, or choose another port: "
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
