package services

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	_ "github.com/go-sql-driver/mysql" // the driver that tests use for their own statements
)

// mariadbScript keeps MariaDB. Its root user may connect from 127.0.0.1 without a password. It makes
// its tables as mariadb-install-db does, without those of help and time zones.
const mariadbScript = `
end=KILL
prepare() {
	mkdir "$folder/data"
	{
		printf '%s\n' 'create database mysql;' 'use mysql;' 'set @auth_root_socket=NULL;' 'set @skip_auth_anonymous=1;'
		cat "$2/mysql_system_tables.sql" "$2/mysql_performance_tables.sql" "$2/mysql_system_tables_data.sql"
	} | "$1" --no-defaults --bootstrap --datadir="$folder/data" --skip-name-resolve \
		--innodb-log-file-size=4M --innodb-buffer-pool-size=8M --innodb-flush-log-at-trx-commit=0
}
serve() {
	bin=$1
	shift 2
	exec "$bin" --no-defaults --datadir="$folder/data" --socket="$folder/socket" --pid-file="$folder/pid" \
		--bind-address=127.0.0.1 --port="$port" --skip-name-resolve --character-set-server=utf8mb4 --performance-schema=OFF \
		--innodb-log-file-size=4M --innodb-buffer-pool-size=8M --innodb-flush-log-at-trx-commit=0 "$@"
}
`

// StartMariaDB starts a MariaDB as StartPostgresWith starts a PostgreSQL, in about two seconds. Its
// URL is a data source name of go-sql-driver/mysql, for the user root, who must be let in from
// 127.0.0.1 without a password and without TLS. Tests configure it in ways of their own and stop it
// in the middle, so there is none that the environment could name instead.
func StartMariaDB(settings, files map[string]string) (*Server, error) {
	bin, share, err := mariadbBin()
	if err != nil {
		return nil, err
	}
	p := program{
		name: "mariadb", script: mariadbScript, args: []string{bin, share}, files: files,
		url:   func(port int) string { return fmt.Sprintf("root@tcp(127.0.0.1:%d)/mysql", port) },
		ready: mariadbReady,
	}
	for name, value := range settings {
		p.args = append(p.args, "--"+name+"="+value)
	}
	return p.start()
}

func mariadbReady(ctx context.Context, url string) error {
	db, err := sql.Open("mysql", url)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.PingContext(ctx)
}

// installMariaDB takes the server alone, without the package whose service would start.
const installMariaDB = `
apt-get update
apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends mariadb-server-core
`

// mariadbBin returns the path of the server, and the folder of the statements that make its tables.
// Where there is none, root on Debian installs it.
func mariadbBin() (bin, share string, err error) {
	if bin, share, ok := findMariaDB(); ok {
		return bin, share, nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
		return "", "", errors.New("no mariadbd in PATH or in /usr/sbin, or not its mysql_system_tables.sql")
	}
	if out, err := install(installMariaDB); err != nil {
		return "", "", fmt.Errorf("apt-get install mariadb-server-core: %w\n%s", err, out[max(0, len(out)-2000):])
	}
	if bin, share, ok := findMariaDB(); ok {
		return bin, share, nil
	}
	return "", "", errors.New("apt-get installed mariadb-server-core, but there is no mariadbd")
}

func findMariaDB() (bin, share string, ok bool) {
	for _, name := range []string{"mariadbd", "/usr/sbin/mariadbd"} { // which is not in everybody's PATH
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		for _, folder := range []string{"mysql", "mariadb"} {
			share := filepath.Join(filepath.Dir(path), "..", "share", folder)
			if _, err := os.Stat(filepath.Join(share, "mysql_system_tables.sql")); err == nil {
				return path, share, true
			}
		}
	}
	return "", "", false
}
