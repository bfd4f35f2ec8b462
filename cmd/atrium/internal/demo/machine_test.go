package demo

import (
	"testing"

	"github.com/atrium-hq/atrium/configs"
)

func TestADemoReachesThisMachineOnlyIfNobodyElseReachesTheDemo(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:8080": true, "[::1]:8080": true, "localhost:0": true,
		":8080": false, "0.0.0.0:8080": false, "192.0.2.1:80": false, "example.com:80": false, "": false,
	} {
		c := configs.Config{Orgs: []configs.Org{{}, {}}}
		c.Server.Addr = addr
		ReachThisMachine(&c)
		for _, o := range c.Orgs {
			if got := len(o.Egress.Allow) == 2; got != want {
				t.Errorf("%q: %v", addr, o.Egress.Allow)
			}
		}
	}
}
