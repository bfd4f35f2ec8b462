package main

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"

	"github.com/atrium-hq/atrium/adapters/console"
)

func main() {
	to, _ := url.Parse(os.Args[1])
	p := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }, FlushInterval: -1}
	base := ""
	if len(os.Args) > 4 { base = os.Args[4] }
	panic(http.ListenAndServe(os.Args[2], http.StripPrefix(base, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := r.URL.Path; strings.HasPrefix(p, "/console/") && !strings.HasPrefix(p, "/console/sign-in") && !strings.HasPrefix(p, "/console/card") {
			h, err := console.New(os.DirFS(os.Args[3]))
			if err != nil { http.Error(w, err.Error(), 500); return }
			h.ServeHTTP(w, r)
			return
		}
		p.ServeHTTP(w, r)
	}))))
}
