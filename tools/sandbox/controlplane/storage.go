package controlplane

import (
	"context"
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	// storageClass is the default StorageClass of a sandbox.
	storageClass = "sandbox"
	// hostPathProvisioner is in kube-controller-manager itself; a flag turns it on.
	hostPathProvisioner = "kubernetes.io/host-path"
)

// createStorageClass creates the default StorageClass. Without it no PersistentVolumeClaim would be bound, and pods with claims
// would never be scheduled.
func createStorageClass(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: storageClass, Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		Provisioner: hostPathProvisioner,
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create StorageClass: %w", err)
	}
	return nil
}
