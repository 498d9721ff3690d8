# The functions of nixpkgs' `lib` that the flake and the stand-in use, with nixpkgs' semantics.
let
  b = builtins;
in rec {
  inherit (b) any attrNames attrValues concatMap concatStringsSep elem genList listToAttrs mapAttrs removeAttrs replaceStrings;
  nameValuePair = name: value: { inherit name value; };
  optional = condition: x: if condition then [ x ] else [ ];
  optionalAttrs = condition: set: if condition then set else { };
  mapAttrs' = f: set: listToAttrs (map (name: f name set.${name}) (attrNames set));
  mapAttrsToList = f: set: map (name: f name set.${name}) (attrNames set);
  hasPrefix = prefix: s: b.substring 0 (b.stringLength prefix) s == prefix;
  removePrefix = prefix: s: if hasPrefix prefix s then b.substring (b.stringLength prefix) (-1) s else s;
  concatMapStringsSep = separator: f: list: concatStringsSep separator (map f list);
  concatMapStrings = concatMapStringsSep "";
  concatStrings = concatStringsSep "";
  escapeShellArg = x: "'${replaceStrings [ "'" ] [ "'\\''" ] (toString x)}'";
  getExe = package: "${package}/bin/${package.meta.mainProgram}";
  cleanSourceWith = { src, filter, name }: b.path { inherit filter name; path = src; };
  licenses = {
    mit = { spdxId = "MIT"; };
    asl20 = { spdxId = "Apache-2.0"; };
  };
}
