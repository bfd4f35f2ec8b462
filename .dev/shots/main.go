// shots BASE LINK OUT scheme width route=name ...
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

func must[T any](v T, err error) T { if err != nil { panic(err) }; return v }

func main() {
	base, out, profile := os.Args[1], os.Args[2], os.Args[3]
	alloc, stop := chromedp.NewExecAllocator(context.Background(), chromedp.ExecPath(os.Getenv("CHROME")), chromedp.UserDataDir(profile), chromedp.Headless, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"))
	defer stop()
	ctx, cl := chromedp.NewContext(alloc)
	defer cl()
	ev := func(js string) { must(chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](js))) }
	wait := func(js string) { c, f := context.WithTimeout(ctx, 15*time.Second); defer f(); if _, err := chromedp.Run(c, chromedp.Poll[bool](js)); err != nil { fmt.Println("wait", js, err) } }
	for _, a := range os.Args[4:] {
		k, v, _ := strings.Cut(a, "=")
		switch k {
		case "link":
			must(chromedp.Run(ctx, chromedp.Navigate(base+"/console/sign-in#token="+v)))
			wait(`document.querySelector('#use-link')`)
			ev(`document.querySelector('#use-link').click()`)
			wait(`document.querySelector('main h1') && location.pathname.includes('/w/')`)
		case "look":
			scheme, w, _ := strings.Cut(v, "-")
			n, _ := strconv.ParseInt(w, 10, 64)
			h := int64(800); if n < 500 { h = 740 }
			must(chromedp.Run(ctx, chromedp.EmulateViewport(n, h)))
			must(chromedp.Run(ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
				_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
				return err
			})))
		case "go":
			must(chromedp.Run(ctx, chromedp.Navigate(base+"/console/"+v)))
			wait(`document.querySelector('main h1') && ![...document.querySelectorAll('main [role=status]')].some((e) => e.innerText === 'Loading…')`)
		case "js":
			ev(v)
		case "wait":
			wait(v)
		case "key":
			must(chromedp.Run(ctx, chromedp.KeyEvent(v)))
		case "print":
			fmt.Println(must(chromedp.Run(ctx, chromedp.Evaluate[string](v))))
		case "sleep":
			d, _ := time.ParseDuration(v); time.Sleep(d)
		case "shot":
			b := must(chromedp.Run(ctx, chromedp.CaptureScreenshot()))
			os.WriteFile(out+"/"+v+".png", b, 0o600)
		}
	}
}
