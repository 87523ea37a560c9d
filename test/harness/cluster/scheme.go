package cluster

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
	coscheduling "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	appsapi "example.com/podsequence/apis/apps/v1"
	batchapi "example.com/podsequence/apis/batch/v1alpha1"
	"example.com/podsequence/apis/scheduling/v1alpha1"
)

// Scheme knows all kinds that tests use.
var Scheme = newScheme()

func newScheme() *runtime.Scheme {
	log.SetLogger(klog.Background()) // of controller-runtime's client, which complains at length without one
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, coscheduling.AddToScheme,
		v1alpha1.AddToScheme, batchapi.AddToScheme, appsapi.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}
