// What the checker doesn't know of a browser: elements that a selector finds have the fields of their kind.

interface Element {
  dataset: DOMStringMap;
  focus(options?: FocusOptions): void;
  dateTime: string;
  name: string;
  open: boolean;
  value: string;
}

interface EventTarget {
  closest(selector: string): any;
}

interface Event {
  key: string;
  relatedTarget: any;
}

interface Window {
  BarcodeDetector?: any;
  injectedWeb3?: any;
  walletExtension?: any;
}
