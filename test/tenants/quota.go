package main

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/podsequence/manifests"
)

// sampleQuota is the ResourceQuota that the documentation recommends for namespaces of people whom one does not trust.
const sampleQuota = "samples/resourcequota.yaml"

// limit puts the sample quota into a namespace, and counts decoys as it does what they stand for.
func (t *testbed) limit(ctx context.Context, namespace string) error {
	content, err := manifests.FS.ReadFile(sampleQuota)
	if err != nil {
		return fmt.Errorf("read the sample quota: %w", err)
	}
	quota := &corev1.ResourceQuota{}
	if err := yaml.UnmarshalStrict(content, quota); err != nil {
		return fmt.Errorf("read %s: %w", sampleQuota, err)
	}
	quota.Namespace = namespace
	decoys := map[corev1.ResourceName]resource.Quantity{}
	for name, most := range quota.Spec.Hard {
		plural, group, _ := strings.Cut(string(name), ".")
		for _, kind := range decoyed {
			if name == corev1.ResourceName("count/"+kind.plural+"."+kind.group()) {
				decoys[corev1.ResourceName(plural+"."+decoyPrefix+group)] = most
			}
		}
	}
	for name, most := range decoys {
		quota.Spec.Hard[name] = most
	}
	if err := t.api.Create(ctx, quota); err != nil {
		return fmt.Errorf("create quota: %w", err)
	}
	// The API server holds nobody to a quota that kube-controller-manager has not counted yet.
	return t.await(ctx, "the quota of "+namespace+" to be counted", func(ctx context.Context) (bool, error) {
		err := t.api.Get(ctx, client.ObjectKeyFromObject(quota), quota)
		return len(quota.Status.Used) == len(quota.Spec.Hard), err
	})
}
