package services

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
)

// nginxScript keeps nginx. The configuration has PORT and FOLDER where the server's own belong.
const nginxScript = `
end=TERM
prepare() { sed -i "s|PORT|$port|g; s|FOLDER|$folder|g" nginx.conf; }
serve() { exec "$1" -p "$folder" -c nginx.conf -e stderr; }
`

// nginxMain is what a distribution's nginx.conf does around the files of conf.d.
const nginxMain = `
daemon off;
pid nginx.pid;
worker_processes 1;
events { worker_connections 1024; }
http {
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
%s
}
`

// Nginx starts nginx with a file of conf.d, which ends with the test, and returns the address at which it listens. In
// the file, PORT is the port and FOLDER the folder of the given files, to which relative paths lead too.
func Nginx(t testing.TB, config string, files map[string]string) (address string) {
	t.Helper()
	server, err := startNginx(config, files)
	if err != nil {
		t.Fatalf("this test needs nginx: %v\nInstall it (Debian: apt-get install nginx-light; macOS: brew install "+
			"nginx).", err)
	}
	t.Cleanup(server.Stop)
	return server.URL
}

func startNginx(config string, files map[string]string) (*Server, error) {
	bin, err := installed("nginx", "nginx-light")
	if err != nil {
		return nil, err
	}
	all := map[string]string{"nginx.conf": fmt.Sprintf(nginxMain, config)}
	for name, text := range files {
		all[name] = text
	}
	p := program{
		name: "nginx", script: nginxScript, args: []string{bin}, files: all,
		url:   func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) },
		ready: accepts,
	}
	return p.start()
}

// accepts reports whether a server accepts connections at the host and port of a URL.
func accepts(ctx context.Context, url string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", url[strings.LastIndexByte(url, '/')+1:])
	if err != nil {
		return err
	}
	return conn.Close()
}
