#!/usr/bin/env bash
# client-go 0.37.1: an informer whose watch is answered with 429, or whose connection is refused, never calls its WatchErrorHandler.
#
# SetWatchErrorHandler is what programs use to count, log or give up when an informer cannot follow the API server. One would guess that it is
# called for each list and watch that fails. For a list it is. But a watch that is refused with 429 (Too Many Requests), or whose connection is
# refused, is begun again inside the reflector, with its own back-off of up to a minute, and logged at level 4. So nobody is told while
# the API server sheds load or is away, however long, and all that an informer has meanwhile is old.
#
# Seen: while the list works and each watch gets 429 for ten seconds, the server saw several watches and the handler was called 0 times. With
# 403 instead, the handler was called for each.
#
# Needs Go and a network. Prints both counts, and fails if the handler is called for 429, or is not called for 403.
set -euo pipefail

version=0.37.1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

go mod init finding >/dev/null 2>&1
go mod edit "-require=k8s.io/client-go@v$version" "-require=k8s.io/api@v$version" "-require=k8s.io/apimachinery@v$version"

cat >watch_test.go <<'GO'
package finding

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// refused returns how many watches a server refused within ten seconds, and how many errors the informer reported.
func refused(t *testing.T, code int) (watches, reported int32) {
	var asked, told atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch query := r.URL.Query(); {
		case query.Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusBadRequest) // an API server that does not stream lists
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400}`)
		case query.Get("watch") != "":
			asked.Add(1)
			w.WriteHeader(code)
			reason := map[int]string{http.StatusTooManyRequests: "TooManyRequests", http.StatusForbidden: "Forbidden"}[code]
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
		default:
			fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}`)
		}
	}))
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	pods := cache.NewSharedInformer(cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", "", fields.Everything()), &corev1.Pod{}, 0)
	if err := pods.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) { told.Add(1) }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	pods.RunWithContext(ctx)
	return asked.Load(), told.Load()
}

func Test(t *testing.T) {
	watches, reported := refused(t, http.StatusTooManyRequests)
	fmt.Printf("429: %d watches, %d errors reported\n", watches, reported)
	if watches < 2 || reported != 0 {
		t.Error("want several watches, and no error")
	}
	watches, reported = refused(t, http.StatusForbidden)
	fmt.Printf("403: %d watches, %d errors reported\n", watches, reported)
	if reported == 0 {
		t.Error("want errors")
	}
}
GO
go mod tidy >tidy.log 2>&1 || { tail -5 tidy.log; exit 1; }
go test -count=1 -v ./... >out.log 2>&1 || { grep -v '^[IWE][0-9]' out.log | tail -9; exit 1; }
grep 'errors reported$' out.log
echo "client-go $version: seen as described"
