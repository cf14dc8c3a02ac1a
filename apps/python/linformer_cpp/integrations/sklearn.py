"""A transformer and a classifier for scikit-learn.

    from linformer_cpp.integrations.sklearn import TextVectors
    pipeline = make_pipeline(TextVectors("all-MiniLM-L6-v2"), LogisticRegression())
"""
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

from ..classifier import Classifier
from ..embedder import Embedder


class TextVectors(TransformerMixin, BaseEstimator):
    """Transforms texts into float32 ``[n, d]``. ``fit()`` has no effect."""

    def __init__(self, model, *, normalize=True, threads=1, truncate_dim=None):
        self.model, self.normalize, self.threads, self.truncate_dim = model, normalize, threads, truncate_dim

    def fit(self, X=None, y=None):
        return self

    def transform(self, X):
        if getattr(self, "_made", None) is None:
            self._made = Embedder(self.model, threads=self.threads, truncate_dim=self.truncate_dim)
        return self._made.encode(X, normalize_embeddings=self.normalize)

    def __sklearn_is_fitted__(self):
        return True


class TextClassifier(ClassifierMixin, BaseEstimator):
    """A trained classifier. Its ``classes_`` are the model's labels, and ``fit()`` has no effect."""

    def __init__(self, model, *, head=None, threads=1):
        self.model, self.head, self.threads = model, head, threads

    def _classifier(self):
        if getattr(self, "_made", None) is None:
            self._made = Classifier(self.model, head=self.head, threads=self.threads)
        return self._made

    @property
    def classes_(self):
        return np.array(self._classifier().labels)

    def fit(self, X=None, y=None):
        return self

    def predict_proba(self, X):
        return self._classifier().predict_proba(X)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def __sklearn_is_fitted__(self):
        return True
