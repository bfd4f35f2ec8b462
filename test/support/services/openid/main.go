// Command openid is a real OpenID provider for tests: the example server of github.com/zitadel/oidc, on loopback.
//
//	openid PORT REDIRECT_URI…
//
// Its issuer is http://127.0.0.1:PORT/, the client is web with the secret "secret", and its people sign in with a
// password.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

func main() {
	address := "127.0.0.1:" + os.Args[1]
	issuer := "http://" + address + "/"
	storage.RegisterClients(storage.WebClient("web", "secret", os.Args[2:]...))
	server := http.Server{
		Addr:              address,
		Handler:           exampleop.SetupServer(issuer, storage.NewStorage(storage.NewUserStore(issuer)), nil, false),
		ReadHeaderTimeout: 10 * time.Second,
	}
	fmt.Println("the issuer is", issuer)
	log.Fatal(server.ListenAndServe())
}
