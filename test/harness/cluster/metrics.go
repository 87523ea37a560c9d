package cluster

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Metric is the sum of a component's samples that begin so.
func (c *Cluster) Metric(t testing.TB, component, prefix string) float64 {
	t.Helper()
	sum := 0.0
	for line := range strings.Lines(c.Metrics(t, component)) {
		if strings.HasPrefix(line, prefix) {
			fields := strings.Fields(line)
			value, err := strconv.ParseFloat(fields[len(fields)-1], 64)
			require.NoError(t, err)
			sum += value
		}
	}
	return sum
}

// Metrics is what a component serves as its metrics to somebody who may read them and nothing else.
func (c *Cluster) Metrics(t testing.TB, component string) string {
	t.Helper()
	// Our controller has a certificate that it signed itself.
	return c.fetch(t, component, "/metrics", &http.Client{Transport: &bearer{c.monitor(t), &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
	}}})
}

// bearer adds a token to requests.
type bearer struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b *bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(request)
}

// monitor returns the token of somebody who may read metrics, by the role that every cluster has for that.
func (c *Cluster) monitor(t testing.TB) string {
	t.Helper()
	c.monitorLock.Lock()
	defer c.monitorLock.Unlock()
	if c.monitorToken != "" {
		return c.monitorToken
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, GenerateName: "monitor-"}}
	require.NoError(t, c.API.Create(t.Context(), account))
	require.NoError(t, c.API.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:monitoring"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}))
	// A refusal would be remembered for a while by whom we ask.
	Await(t, "the permission to count", func() bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:                  "system:serviceaccount:" + account.Namespace + ":" + account.Name,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"},
		}}
		require.NoError(t, c.API.Create(t.Context(), review))
		return review.Status.Allowed
	})
	request := &authenticationv1.TokenRequest{}
	require.NoError(t, c.API.SubResource("token").Create(t.Context(), account, request))
	c.monitorToken = request.Status.Token
	return c.monitorToken
}

// Fetch is what a component serves to the administrator.
func (c *Cluster) Fetch(t testing.TB, component, path string) string {
	t.Helper()
	administrator, err := rest.HTTPClientFor(c.Config())
	require.NoError(t, err)
	return c.fetch(t, component, path, administrator)
}

func (c *Cluster) fetch(t testing.TB, component, path string, client *http.Client) string {
	t.Helper()
	url, err := c.URL(component)
	require.NoError(t, err)
	var response *http.Response
	// A program that has just started may not listen yet.
	Await(t, component+" to listen at "+url, func() bool {
		response, err = client.Get(url + path)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return false
		}
		require.NoError(t, err)
		return true
	})
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s%s: %s", url, path, body)
	return string(body)
}
