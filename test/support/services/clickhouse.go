package services

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
)

// clickhouseScript keeps ClickHouse. It finds the files of its settings in the folder, which it is in.
const clickhouseScript = `
end=KILL
prepare() {
	mkdir "$folder/data" "$folder/data/tmp"
}
serve() {
	exec "$1" --config-file="$folder/config.xml" -- --path="$folder/data/" --tmp_path="$folder/data/tmp/" --http_port="$port"
}
`

// clickhouseSettings are those of every server, besides what clickhouseScript gives.
const clickhouseSettings = `
	<logger><level>warning</level><console>1</console></logger>
	<listen_host>127.0.0.1</listen_host>
	<users_config>users.xml</users_config>
	<default_profile>default</default_profile>
	<default_database>default</default_database>
	<mark_cache_size>5368709</mark_cache_size>
`

// StartClickHouse starts a ClickHouse as StartPostgresWith starts a PostgreSQL, in about a second, with
// its HTTP interface alone. settings stand within the root of its configuration; users is all of
// users.xml, and must let the user default in from 127.0.0.1 without a password. Both may name files
// without a path. This version has no statements that make users, and tests stop it in the middle, so
// there is none that the environment could name instead.
func StartClickHouse(settings, users string, files map[string]string) (*Server, error) {
	bin, err := clickhouseBin()
	if err != nil {
		return nil, err
	}
	all := map[string]string{"config.xml": "<yandex>" + clickhouseSettings + settings + "</yandex>", "users.xml": users}
	maps.Copy(all, files)
	p := program{
		name: "clickhouse", script: clickhouseScript, args: []string{bin}, files: all,
		url:   func(port int) string { return fmt.Sprintf("http://127.0.0.1:%d/", port) },
		ready: clickhouseReady,
	}
	return p.start()
}

func clickhouseReady(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"ping", nil)
	if err != nil {
		return err
	}
	r.Close = true // a connection that stays open would read as a leaked goroutine
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("it answered %d", answer.StatusCode)
	}
	return nil
}

// clickhouseFolder is where the server is unpacked, out of the way of the package that would start it.
const clickhouseFolder = "/var/cache/atrium-tests/clickhouse"

// installClickHouse takes what the server needs, which is a library and no service, and the server out
// of its package.
const installClickHouse = `
apt-get update
apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends clickhouse-common
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
cd "$folder"
apt-get download clickhouse-server
dpkg -x clickhouse-server_*.deb unpacked
chmod 755 unpacked
mkdir -p "$1"
cp unpacked/usr/sbin/clickhouse-server "$1/new.$$"
mv "$1/new.$$" "$1/clickhouse-server"
`

// clickhouseBin returns the path of the server. Where there is none, root on Debian gets it.
func clickhouseBin() (string, error) {
	if bin, ok := findClickHouse(); ok {
		return bin, nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
		return "", errors.New("no clickhouse-server 18.16, as Debian 12 has it, in PATH, in /usr/sbin or in " +
			clickhouseFolder)
	}
	if out, err := install(installClickHouse, clickhouseFolder); err != nil {
		return "", fmt.Errorf("get clickhouse-server: %w\n%s", err, out[max(0, len(out)-2000):])
	}
	if bin, ok := findClickHouse(); ok {
		return bin, nil
	}
	return "", errors.New("clickhouse-server was unpacked and does not start")
}

func findClickHouse() (bin string, ok bool) {
	for _, name := range []string{"clickhouse-server", "/usr/sbin/clickhouse-server",
		clickhouseFolder + "/clickhouse-server"} {
		path, err := exec.LookPath(name)
		if err == nil && runs(path) {
			return path, true
		}
	}
	return "", false
}

// runs reports whether a program is a ClickHouse of Debian's that finds its libraries. It refuses to tell its
// version, which is how it is known: those since version 20 do tell, and have users and privileges in
// other ways than the tests' samples.
func runs(path string) bool {
	const missing = 127 // the exit code of Linux's loader
	exit, isRefused := errors.AsType[*exec.ExitError](exec.Command(path, "--version").Run())
	return isRefused && exit.ExitCode() != missing
}
